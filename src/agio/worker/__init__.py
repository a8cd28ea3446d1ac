"""The side that runs agents: receives jobs over the link, executes them, and sends their events back."""
