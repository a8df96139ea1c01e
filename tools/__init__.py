"""Small scripts that the checks run."""
