"""What may be taken away, and how it goes."""
