"""What attention heads do, and which can go."""
