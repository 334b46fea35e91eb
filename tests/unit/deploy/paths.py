"""Where what is deployed lies."""

from pathlib import Path

DEPLOY = Path(__file__).parents[3] / "deploy"
