"""Which verbs does the command line have, one a file?"""
