"""Which replicas of a playbook serve together, where is each of them, and what stands before them?"""
