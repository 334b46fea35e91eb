"""Wyoming server: Home Assistant's voice protocol over the SDK.

    describe                                → info
    select-program, ping                    → nothing, pong
    transcribe, audio-start, audio-chunk …  → transcript-start, transcript-chunk …
    audio-stop                              → transcript, transcript-stop
    recognize                               → intent, or not-recognized
    transcript                              → handled, or not-handled
    intent                                  → not-handled: nothing here carries commands out
    synthesize                              → audio-start, audio-chunk …, audio-stop
    synthesize-start, -chunk …, -stop       → the same while the text still comes, then synthesize-stopped

What cannot be done is answered with `error`, whose text says what to do and whose code tells programs why; where the
client now waits for a reply, the connection then closes. Events that are not listed are ignored, as the protocol asks.
`WyomingServer` listens, `Connection` answers one client, `Hearing` turns one stream of audio into its transcript and
`Speaking` a text into audio; the rest of the modules are pure.
"""

from vivavoce.wyoming.connection import Settings
from vivavoce.wyoming.server import WyomingServer, parse_uri

__all__ = ["Settings", "WyomingServer", "parse_uri"]
