"""The wire: what agio says to clients and keeps in its log. Imports nothing of agio but errors."""
