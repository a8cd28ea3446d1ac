"""The store port and its records. Implemented in db/."""
