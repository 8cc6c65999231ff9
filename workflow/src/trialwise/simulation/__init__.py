"""Simulated worlds whose truth is known: the demo, and the tests of the methods."""
