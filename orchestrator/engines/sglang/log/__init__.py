"""How does a log of SGLang read, from 0.4 to 0.5.23?"""
