"""Telemetry of the service."""
