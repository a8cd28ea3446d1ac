"""The one way in: messages, answers and results are accepted, runs cancelled, sessions copied and deleted."""
