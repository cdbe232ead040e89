"""The files of a checkpoint, and how they come from the Hub."""
