"""Interleaved measurements of Headrace and its peers."""
