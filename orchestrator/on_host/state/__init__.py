"""What a deployment left on record here."""
