"""Authentication: TLS, tokens, JWTs and certificates."""
