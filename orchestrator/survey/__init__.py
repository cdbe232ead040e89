"""How host, checkpoint and deployment stand."""
