"""A server process: a gateway put together, listening, and kept alive until a signal comes."""
