"""Model drivers: one file per wire format, each a `ModelDriver`. Vendor types stay inside this package."""
