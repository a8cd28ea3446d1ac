"""The agent every server has: the same prompt, model and tool, and where its model and its file are."""

import os

INSTRUCTIONS = "You are a helpful assistant."
MODEL = "gpt-4o-mini"
API_KEY = "sk-mock"
BASE_URL = os.environ["OPENAI_BASE_URL"]
STORE = os.environ.get("BENCH_STORE", "")
WIRE = os.environ.get("BENCH_WIRE", "chat")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
