"""Small trained models that the project made itself, and the scripts that make them again."""
