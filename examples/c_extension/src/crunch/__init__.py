"""Work in C: ``crunch.right`` runs without a GIL, ``crunch.wrong`` says that it needs one, ``crunch.missing`` says nothing.

Importing one of the last two on a free-threaded build switches the GIL on, so this package imports none of them.
"""
