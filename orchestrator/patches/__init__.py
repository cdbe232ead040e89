"""What is known about failures, as data: how one is recognised and what mends it."""
