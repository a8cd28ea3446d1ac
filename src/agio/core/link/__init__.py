"""The link between a gateway and a worker: its calls, and the bytes they travel as."""
