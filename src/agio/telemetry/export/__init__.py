"""Traces of ended runs, made from their logs: one trace, and its encoders for OpenAI's dashboard and for OTLP."""
