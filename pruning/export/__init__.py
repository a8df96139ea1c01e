"""Smaller models as folders, each proved equal to its mask."""
