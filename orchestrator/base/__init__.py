"""What every other room may use: errors, events, amounts, files."""
