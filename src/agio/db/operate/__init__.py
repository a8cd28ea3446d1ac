"""A store seen from outside: backup, inspection, and a look before it is opened."""
