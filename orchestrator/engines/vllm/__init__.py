"""vLLM: its options, its sizes, what its settings mean."""
