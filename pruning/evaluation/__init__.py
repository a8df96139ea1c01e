"""What a model can do without heads, and what it costs."""
