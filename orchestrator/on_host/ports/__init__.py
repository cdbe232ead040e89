"""What listens on this machine, and what it answers."""
