"""Which files make a model, are they whole, and how are their configs edited?"""
