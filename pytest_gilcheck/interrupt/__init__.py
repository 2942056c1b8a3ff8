"""Does Ctrl-C work: is it seen, does the process end, and is the code safe to interrupt?"""
