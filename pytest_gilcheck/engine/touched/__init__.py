"""What the steps of a run have touched: objects as numbers, and for each step which of them it read or changed."""
