"""What is known of an engine, apart from all that is known of hosts and models."""
