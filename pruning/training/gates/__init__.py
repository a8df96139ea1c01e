"""Learned masks: gates that are trained, one way per file."""
