"""Masks, smaller models and their export."""
