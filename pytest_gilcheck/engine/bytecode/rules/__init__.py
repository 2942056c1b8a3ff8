"""What the instructions touch that are steps, by what they do: a rule for each kind."""
