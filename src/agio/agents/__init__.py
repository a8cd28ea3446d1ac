"""The demo agent."""
