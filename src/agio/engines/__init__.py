"""Engines that drive a run instead of agio's own loop, each with a vendor's SDK. Vendor types stop here."""
