"""What would be done, and why."""
