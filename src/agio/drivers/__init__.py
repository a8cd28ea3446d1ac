"""One file a vendor's wire format, each a `ModelDriver`. Vendor types stop here."""
