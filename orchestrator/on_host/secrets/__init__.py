"""What must never be shown, and the Hub's token."""
