"""Sessions over WebRTC with real models: aiortc and Chromium ask by voice, and hear the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import openai
import soundfile
import soxr
from playwright.sync_api import sync_playwright

from demo.manifest import utterances
from tests.integration.test_page import CHROMIUM, FLAGS, needs_chromium
from tests.web_caller import RATE_HZ, calling

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

QUESTION = next(one for one in utterances() if one.path.stem == "museum_boat")
SESSION = {
    "type": "realtime",
    "vivavoce": {"documents": [{"id": one.id, "text": one.text} for one in QUESTION.documents()]},
}

ASK_BY_VOICE = """
async (secret) => {
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true } });
  const connection = new RTCPeerConnection();
  for (const track of microphone.getTracks()) connection.addTrack(track, microphone);
  connection.ontrack = ({ track }) => {
    const audio = new Audio();
    audio.srcObject = new MediaStream([track]);
    audio.play();
  };
  const channel = connection.createDataChannel("oai-events");
  const events = [];
  const stopped = new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      events.push(JSON.parse(data));
      if (events.at(-1).type === "output_audio_buffer.stopped") resolve();
    };
  });
  await connection.setLocalDescription(await connection.createOffer());
  const response = await fetch("/v1/realtime/calls", {
    method: "POST",
    body: connection.localDescription.sdp,
    headers: { "content-type": "application/sdp", authorization: `Bearer ${secret}` },
  });
  if (!response.ok) return await response.text();
  await connection.setRemoteDescription({ type: "answer", sdp: await response.text() });
  await stopped;
  let energy = 0;
  for (const report of (await connection.getStats()).values()) {
    if (report.type === "inbound-rtp") energy = report.totalAudioEnergy;
  }
  connection.close();
  return { events, energy };
}
"""


def spoken(rate_hz: int) -> npt.NDArray[np.float32]:
    """The question as a microphone hears it."""
    samples, rate = soundfile.read(QUESTION.path, dtype="float32")
    return soxr.resample(samples, rate, rate_hz)


def check(events: list[dict[str, Any]]) -> None:
    """Checks that the question was heard and answered."""
    (heard,) = [one for one in events if one["type"] == "conversation.item.input_audio_transcription.completed"]
    assert "boat" in heard["transcript"].lower()
    (done,) = [one for one in events if one["type"] == "response.done"]
    assert QUESTION.answer in done["response"]["output"][0]["content"][0]["transcript"]


async def test_a_client_on_aiortc_asks_and_hears(http_url: str):
    async with openai.AsyncOpenAI(base_url=f"{http_url}/v1", api_key="none") as own:
        secret = (await own.realtime.client_secrets.create(session=SESSION)).value
    async with aiohttp.ClientSession(http_url) as session:
        async with calling(session, headers={"authorization": f"Bearer {secret}"}) as caller:
            await caller.until("session.created")
            caller.microphone.say((spoken(RATE_HZ) * 32767).astype("<i2"))
            await caller.until("output_audio_buffer.stopped", 30)
            check(caller.events)
            assert len(caller.heard_at) > 50
        async with session.post("/v1/realtime/calls", data="v=0", headers={"authorization": "Bearer ek_0"}) as response:
            assert response.status == 401


@needs_chromium
def test_chromium_asks_and_hears(http_url: str, tmp_path: Path):
    with openai.OpenAI(base_url=f"{http_url}/v1", api_key="none") as own:
        secret = own.realtime.client_secrets.create(session=SESSION).value
    silence = np.zeros(2 * RATE_HZ, np.float32)
    said = np.concatenate([silence, spoken(RATE_HZ), np.tile(silence, 15)])
    soundfile.write(tmp_path / "said.wav", said, RATE_HZ, subtype="PCM_16")
    with sync_playwright() as playwright:
        flags = [*FLAGS, "--autoplay-policy=no-user-gesture-required"]
        flags.append(f"--use-file-for-fake-audio-capture={tmp_path / 'said.wav'}%noloop")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            page = browser.new_context(permissions=["microphone"]).new_page()
            page.goto(http_url)
            found = page.evaluate(ASK_BY_VOICE, secret)
        finally:
            browser.close()
    check(found["events"])
    assert found["energy"] > 0
