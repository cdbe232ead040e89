"""What lives on this machine, and what it holds."""
