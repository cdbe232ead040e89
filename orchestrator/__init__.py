"""Takes a bare GPU host to a proven-healthy vLLM server, and repairs the launches that fail."""

__version__ = "0.1.0"
