"""How is what happens shown: one event stream, several renderers?"""
