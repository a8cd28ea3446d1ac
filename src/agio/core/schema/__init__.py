"""JSON schemas: built from Python types, used for validation, and bounded in cost when untrusted."""
