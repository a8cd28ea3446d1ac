"""The gateway's side of the workers: who is here, which run goes to whom, what they append."""
