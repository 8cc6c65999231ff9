"""Representations of images and object names by pretrained models."""
