"""FiAK: priors on attention scores and keys, what is pruned by them, and attention that computes less for it."""
