"""Collections of documents, their documents, and what a search of them finds."""
