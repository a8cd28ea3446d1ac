"""The engine and its ports, without sockets, SQL or vendor code. Drivers, tools and stores are Protocols."""
