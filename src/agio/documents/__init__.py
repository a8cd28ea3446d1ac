"""Extraction: what a document says, as passages, made in a subprocess with bounds on all that it may use."""
