"""The picture of the page: ``python -m tools.page_picture`` talks to it in Chromium and keeps what it shows.

Starts a service of its own, and Chromium with recordings of the demonstration as its microphone.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import soxr
from playwright.sync_api import expect, sync_playwright

from demo.manifest import FOLDER, utterances
from service.processes.child_process import SERVE, http_url_of, listening

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "page.png"

_SAID = ("lights", "museum_family", "museum_tram")
_DOCUMENT = FOLDER / "documents" / "river_museum.txt"
_RATE_HZ = 48_000
_PAUSE_SECONDS = 6.0
_PATIENCE_MS = 60_000


def main() -> None:
    """Keep the picture.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("there is no chromium on the PATH: install it")
    with tempfile.TemporaryDirectory() as folder:
        log, microphone = Path(folder, "log"), Path(folder, "microphone.wav")
        soundfile.write(microphone, _speech(), _RATE_HZ, subtype="PCM_16")
        arguments = [*SERVE, "--max-conversations", "8", "--http-port", "0", "--no-admin"]
        with listening(arguments, log) as (process, _):
            _take(chromium, http_url_of(process), microphone)


def _speech() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    by_name = {Path(one.file).stem: one.path for one in utterances()}
    pause = np.zeros(round(_PAUSE_SECONDS * _RATE_HZ), np.float32)
    said = [pause[:_RATE_HZ]]
    for name in _SAID:
        samples, rate = soundfile.read(by_name[name], dtype="float32")
        said += [soxr.resample(samples, rate, _RATE_HZ), pause]
    return np.concatenate([*said, *[pause] * 10])


def _take(chromium: str, url: str, microphone: Path) -> None:
    flags = [
        "--no-sandbox",
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={microphone}%noloop",
        "--disable-background-networking",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        size = {"width": 1200, "height": 900}
        page = browser.new_context(permissions=["microphone"], viewport=size).new_page()  # type: ignore[arg-type]
        page.goto(url)
        page.locator("#files").set_input_files(_DOCUMENT)
        page.get_by_label("I wear headphones").check()
        page.get_by_role("button", name="Listen to the microphone").click()
        expect(page.locator(".reply:visible")).to_have_count(len(_SAID), timeout=_PATIENCE_MS)
        page.wait_for_timeout(1_000)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
