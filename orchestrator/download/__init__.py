"""Getting a checkpoint onto a host."""
