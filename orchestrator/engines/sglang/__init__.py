"""SGLang: how its logs read, and which options a remedy may name."""
