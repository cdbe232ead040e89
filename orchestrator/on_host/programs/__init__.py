"""What the controller asks for: each has a `main`."""
