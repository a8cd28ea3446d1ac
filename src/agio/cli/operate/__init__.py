"""Care for a store and a server: doctor, backup, migration, keys and their rotation."""
