"""What was computed beside what was published."""
