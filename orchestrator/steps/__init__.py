"""What a deployment does, one file a kind of step: what it will change, and the doing."""
