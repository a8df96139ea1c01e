"""How much a model depends on each of its heads: one method a file."""
