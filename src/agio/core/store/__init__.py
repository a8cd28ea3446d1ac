"""The store port: what is kept, and the records it answers with. Implemented in db/."""
