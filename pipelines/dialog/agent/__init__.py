"""An agent as a folder of plain files: ``agent.yaml``, ``values/``, ``sentences/`` and ``tests/``."""
