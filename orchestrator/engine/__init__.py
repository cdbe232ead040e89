"""How is vLLM started, watched, asked and stopped, version by version?"""
