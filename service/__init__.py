"""Service: APIs, sessions, admission, security, telemetry and the life cycle."""
