"""Models without a playbook."""
