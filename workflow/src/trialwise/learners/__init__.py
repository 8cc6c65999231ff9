"""Learners that meet a task trial by trial, as people did (Demircan et al. 2024)."""
