"""Figures, components and forms that pages draw with."""
