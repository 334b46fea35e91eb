"""The page in Chromium with a recording as its microphone, against the service."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
import soxr
from playwright.sync_api import expect, sync_playwright

from demo.manifest import FOLDER, utterances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
MICROPHONE_HZ = 48_000
REPLY_MS = 20_000
"""On a machine that does much else."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


def recorded(name: str) -> np.ndarray:
    """A recording as a microphone hears it."""
    (path,) = (one.path for one in utterances() if Path(one.file).stem == name)
    samples, rate = soundfile.read(path, dtype="float32")
    return soxr.resample(samples, rate, MICROPHONE_HZ)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * MICROPHONE_HZ), np.float32)


@pytest.fixture
def page(tmp_path: Path, http_url: str) -> Iterator[Page]:
    """The page, before anything was done on it; its microphone plays a command, a question and an interruption."""
    said = [silence(1), recorded("lights"), silence(4), recorded("bee_winter"), silence(1.8), recorded("lights")]
    soundfile.write(tmp_path / "said.wav", np.concatenate([*said, silence(30)]), MICROPHONE_HZ, subtype="PCM_16")
    flags = (*FLAGS, f"--use-file-for-fake-audio-capture={tmp_path / 'said.wav'}%noloop")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        context = browser.new_context(permissions=["microphone"], viewport={"width": 1200, "height": 860})
        errors: list[str] = []
        shown = context.new_page()
        shown.on("pageerror", lambda error: errors.append(str(error)))
        shown.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        shown.goto(http_url)
        try:
            yield shown
            assert errors == []
        finally:
            browser.close()


@needs_chromium
def test_the_page_listens_shows_speaks_and_is_interrupted(page: Page):
    page.get_by_label("Or write one").fill((FOLDER / "documents" / "honey_bees.txt").read_text())
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("I wear headphones").check()
    page.get_by_role("button", name="Listen to the microphone").click()
    turns = page.locator(".turn")
    expect(turns.nth(0).locator(".intent")).to_have_text("iot hue lightoff", timeout=REPLY_MS)
    expect(turns.nth(0).locator(".said")).to_contain_text(re.compile("lights in the bedroom", re.IGNORECASE))
    expect(turns.nth(1).locator(".answer")).to_contain_text("shivering with their flight muscles", timeout=REPLY_MS)
    expect(turns.nth(1).locator("mark")).to_contain_text("shivering with their flight muscles")
    expect(turns.nth(1).locator(".note")).to_contain_text("interrupted", timeout=REPLY_MS)
    expect(turns.nth(2).locator(".intent")).to_have_text("iot hue lightoff", timeout=REPLY_MS)
    assert 0 < int(page.locator("#turn-ms").inner_text()) < REPLY_MS
    assert 0 < int(page.locator("#voice-ms").inner_text()) < REPLY_MS
    page.get_by_role("button", name="Stop the microphone").click()
    expect(page.get_by_role("button", name="Listen to the microphone")).to_be_visible()


@needs_chromium
def test_the_page_is_used_with_the_keyboard_alone(page: Page):
    page.get_by_placeholder("Type a question or a command").focus()
    page.keyboard.type("turn on the lights in the kitchen")
    page.keyboard.press("Enter")
    expect(page.locator(".intent")).to_have_text("iot hue lighton", timeout=REPLY_MS)
    focusable = page.locator("button:visible, input:visible, select:visible, textarea:visible")
    for number in range(focusable.count()):
        name = focusable.nth(number).evaluate(
            "it => it.labels?.[0]?.innerText || it.getAttribute('aria-label') || it.innerText"
        )
        assert name.strip(), focusable.nth(number).evaluate("it => it.outerHTML")


@needs_chromium
def test_a_recording_is_played_in_place_of_the_microphone(page: Page):
    (path,) = (one.path for one in utterances() if Path(one.file).stem == "alarm")
    page.locator("#recording").set_input_files(path)
    expect(page.locator(".intent")).to_have_text("alarm set", timeout=REPLY_MS)
    expect(page.get_by_role("button", name="Listen to the microphone")).to_be_visible(timeout=REPLY_MS)
    page.locator("#files").set_input_files(files=[{"name": "empty.txt", "mimeType": "text/plain", "buffer": b" "}])
    expect(page.locator("#status")).to_have_text("empty.txt is empty: choose another one.")


@needs_chromium
def test_an_agent_holds_the_conversation(page: Page):
    page.get_by_label("Agent").select_option("lamp")
    turns = page.locator(".turn")
    for number, (said, answered) in enumerate(
        [
            ("turn off the lights", "In which room?"),
            ("in the kitchen", "Lights off in the kitchen?"),
            ("yes", "Done."),
        ],
        1,
    ):
        page.get_by_placeholder("Type a question or a command").fill(said)
        page.keyboard.press("Enter")
        expect(turns.nth(number).locator(".answer")).to_have_text(answered, timeout=REPLY_MS)
    expect(turns.nth(0).locator(".answer")).to_have_text("Hello.")
    expect(turns.nth(0).locator(".said")).to_be_hidden()
    expect(turns.nth(2).locator(".chip").last).to_have_text("place kitchen")
    expect(turns.nth(3).locator(".note").last).to_have_text("to be carried out: light_off")


@needs_chromium
def test_the_page_fits_a_phone(page: Page):
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
