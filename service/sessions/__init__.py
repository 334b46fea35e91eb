"""Open conversations, the service's readiness and its lifetime."""
