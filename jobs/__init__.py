"""Long work off the interface."""
