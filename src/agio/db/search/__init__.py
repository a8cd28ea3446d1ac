"""What a search reads of a message, and the excerpt it shows."""
