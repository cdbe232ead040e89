"""What only an examination of a whole host asks for, one file a fact: no launch has to wait for it, or to know it?"""
