"""The bus between the gateways of one store: doorbells, and committed events on their way to other gateways' readers.

The store is the truth (law 1): losing every message here costs latency, never data.
"""
