"""Plans of background jobs and leases."""
