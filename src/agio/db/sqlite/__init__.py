"""The store in an SQLite file, through apsw: one writer thread with group commit, a few readers."""
