"""Who calls, and how the service knows: TLS, tokens, JWTs and certificates."""
