"""Evidence as something to look at: pure functions from records to text."""
