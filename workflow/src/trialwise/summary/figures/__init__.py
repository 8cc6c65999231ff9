"""Figures, each drawn from a tidy table that is written next to it."""
