"""Memories, suggestions, extraction, and the index of passages."""
