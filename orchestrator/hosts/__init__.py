"""SSH hosts and this machine, driven alike."""
