"""The transactions of the store as plans, one package a subject."""
