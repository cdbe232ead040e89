"""Which patches are there, where do they apply, and how are they applied and reverted?"""
