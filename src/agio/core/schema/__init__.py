"""JSON schemas: made from Python types, checked, and bounded when they come from outside."""
