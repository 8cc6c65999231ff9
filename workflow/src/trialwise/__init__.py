"""Trial-by-trial agreement between people and models."""

__version__ = "0.1.0"
