"""The order of things, and what happens when a launch fails."""
