"""What between hosts that are to serve one model together would keep them from it? One file a subject."""
