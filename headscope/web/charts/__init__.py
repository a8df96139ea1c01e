"""Figures and HTML as pure functions of plain values."""
