"""Agents that come with agio, and the rules by which one is chosen."""
