"""Carries the steps of the Dockerfile out without Docker, and tries what comes of them: ``python -m tools.image``."""
