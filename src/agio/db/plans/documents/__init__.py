"""Plans of collections, documents, their ingestion and their search."""
