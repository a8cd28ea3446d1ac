"""A client of a running server: REST, its runs, and the look-up of runs by a typed name."""
