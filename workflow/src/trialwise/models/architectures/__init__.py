"""Architectures that no library of the main environment has."""
