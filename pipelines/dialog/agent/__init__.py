"""Agent as a folder: ``agent.yaml``, ``values/``, ``sentences/``, ``tests/``."""
