"""The wire protocol: what agio sends to clients and stores in its log. Imports nothing of agio but errors."""
