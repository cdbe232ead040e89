"""Getting an engine of our own onto a host."""
