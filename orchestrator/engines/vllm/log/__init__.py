"""How does a log of vLLM read, from 0.5 to 0.33?"""
