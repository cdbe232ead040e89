"""What the programs on a host are asked, and what they answer, as values."""
