"""How scores, losses or roles become masks: one strategy a file."""
