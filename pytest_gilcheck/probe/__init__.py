"""What does this interpreter do with threads? The classic experiments on the GIL, over any interpreter that can be started."""
