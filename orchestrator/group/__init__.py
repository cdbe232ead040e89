"""Which hosts serve one deployment, what is each of them for, and where do they meet?"""
