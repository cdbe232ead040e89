"""What vLLM's KV cache takes."""
