"""Running tools: lookup, validation, timeouts, threads, results."""
