"""HTTP itself: addresses, origins, rate limits, headers, bodies, uploads, errors, and the route machinery."""
