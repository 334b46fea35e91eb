"""Vivavoce's own contract: handlers and converters."""
