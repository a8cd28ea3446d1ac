"""Operating a store: backup, inspection, and checks before it is opened."""
