"""What a server says of itself: logs, and the ids that tie their lines together."""
