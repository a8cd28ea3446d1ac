"""operate."""
