"""What every head does and how much it matters."""
