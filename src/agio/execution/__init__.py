"""Running tools: look-up, validation, time-outs, concurrency, and asking a person first."""
