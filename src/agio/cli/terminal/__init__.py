"""What a person sees in a terminal: events rendered to text, cards and tables."""
