"""Has LiteLLM transcribe a recording and speak a text through its provider `openai`, and prints what came."""

import json
import sys
from pathlib import Path

import litellm
import openai


def main(url: str, path: str, speech: str) -> None:
    where = {"api_base": f"{url}/v1", "api_key": "none"}
    recording = (Path(path).name, Path(path).read_bytes())
    plain = litellm.transcription(model="openai/whisper-1", file=recording, **where)
    timed = litellm.transcription(
        model="openai/whisper-1",
        file=recording,
        response_format="verbose_json",
        timestamp_granularities=["word"],
        **where,
    )
    spoken = litellm.speech(model="openai/tts-1", voice="alloy", input="Start the vacuum cleaner.", **where)
    Path(speech).write_bytes(spoken.content)
    try:
        litellm.transcription(model="openai/whisper-1", file=recording, language="de", **where)
    except openai.BadRequestError as error:
        refusal = str(error)
    print(json.dumps({"plain": plain.text, "words": timed.model_dump()["words"], "refusal": refusal}))


main(*sys.argv[1:])
