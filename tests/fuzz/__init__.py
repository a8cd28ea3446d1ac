"""Everything hostile that a machine can make up: requests, frames, and bytes that are neither."""
