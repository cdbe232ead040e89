"""What can be read from a host without changing it, one file a fact?"""
