"""The store on Postgres, through asyncpg."""
