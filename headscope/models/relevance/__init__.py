"""Layer-wise relevance propagation as a backward pass: operations and rules."""
