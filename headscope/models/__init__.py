"""A transformer seen as banks of heads; imports nothing of ours."""
