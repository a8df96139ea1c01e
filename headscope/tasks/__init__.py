"""What a model is judged on."""
