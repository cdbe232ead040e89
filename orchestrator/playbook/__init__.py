"""One deployment as data."""
