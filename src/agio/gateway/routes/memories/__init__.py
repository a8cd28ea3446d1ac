"""What agents remember: memories, suggestions, and what is known of a person."""
