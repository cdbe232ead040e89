"""How is a host reached, over SSH or locally?"""
