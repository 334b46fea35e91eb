"""An agent that hears intents of the shipped engine: it turns lights off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

AGENT = """\
name: lamp
begin: Hello.
intents:
  light_off:
    heard_as: iot_hue_lightoff
    slots:
      place: {type: closed, required: true, prompt: "In which room?", heard_as: house_place}
    confirm: "Lights off in the {place}?"
    fulfilment: light_off
    response: Done.
"""


def write_lamp_agent(folder: Path) -> Path:
    """Writes the agent into a new folder below ``folder``; returns it."""
    (folder / "lamp/values").mkdir(parents=True)
    (folder / "lamp/agent.yaml").write_text(AGENT, "utf-8")
    (folder / "lamp/values/place.txt").write_text("bedroom\nkitchen\n", "utf-8")
    return folder / "lamp"
