"""Which heads to remove: strategies, sweeps, budgets, and comparisons of them."""
