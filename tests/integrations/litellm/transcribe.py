"""Has LiteLLM transcribe a recording through its provider `nvidia_riva`, in several ways, and prints what came."""

import json
import sys
from pathlib import Path
from typing import Any

import litellm
from litellm.llms.nvidia_riva.common_utils import NvidiaRivaException


def transcribe(server: str, path: Path, **options: Any) -> dict[str, Any]:
    try:
        found = litellm.transcription(
            model="nvidia_riva/vivavoce", file=(path.name, path.read_bytes()), api_base=server, **options
        )
    except NvidiaRivaException as error:
        return {"status": error.status_code, "message": str(error)}
    return found.model_dump()


def main(server: str, path: str) -> None:
    timed = {"response_format": "verbose_json", "timestamp_granularities": ["word"]}
    detection = {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 400, "prefix_padding_ms": 300}
    outcomes = {
        "plain": transcribe(server, Path(path), language="en"),
        "timed": transcribe(server, Path(path), **timed),
        "endpointed": transcribe(server, Path(path), chunking_strategy=detection),
        "german": transcribe(server, Path(path), language="de"),
        "unreachable": transcribe("127.0.0.1:1", Path(path)),
    }
    print(json.dumps(outcomes))


main(*sys.argv[1:])
