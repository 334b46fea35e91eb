"""HTTP port: server, authentication, errors, health, and a folder per contract."""
