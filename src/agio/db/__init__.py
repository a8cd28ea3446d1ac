"""The log on disk: connection, migrations, named queries, and the repository over them. SQL stops here."""
