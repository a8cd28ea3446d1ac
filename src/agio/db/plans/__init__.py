"""The transactions of the store, as plans: one module a part of the port."""
