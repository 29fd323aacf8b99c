"""Clients of other projects, unmodified, against the embedded server."""
