"""The link between a gateway and a worker: its calls and their encoding."""
