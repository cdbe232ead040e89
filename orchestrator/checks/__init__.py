"""What keeps an engine from starting on a host, by its facts alone, and which command mends it? Pure."""
