"""The REST routes of the gateway, one file a noun. The list of them all is table.py."""
