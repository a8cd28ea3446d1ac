"""Agents, and which tools they may use."""
