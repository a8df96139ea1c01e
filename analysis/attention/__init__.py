"""What every head does with one example: its attention as plain values, and as a picture."""
