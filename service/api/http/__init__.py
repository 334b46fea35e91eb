"""The HTTP port of the service: its server, the check of callers, errors and health; below it one folder a contract."""
