"""The engine, pure: no sockets, no SQL, no vendor. It knows drivers, tools and stores as Protocols it owns."""
