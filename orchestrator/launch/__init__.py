"""One launch, followed to its first completion or its end."""
