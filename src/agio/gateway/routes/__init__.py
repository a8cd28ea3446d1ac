"""The REST routes of the gateway, a room a noun with its bodies and views. The list of all routes is table.py."""
