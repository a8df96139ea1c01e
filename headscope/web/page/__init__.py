"""What every page has: frame, links, messages, and the choice of a model."""
