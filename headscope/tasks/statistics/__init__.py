"""Metrics, their intervals, and paired tests."""
