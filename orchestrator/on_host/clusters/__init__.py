"""What takes part in a cluster that is one launch's own: programs that the engine's Python runs."""
