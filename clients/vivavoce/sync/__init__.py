"""The client without asyncio, for programs and notebooks that have no event loop.

    import vivavoce.sync

    with vivavoce.sync.connect("localhost:50051") as client:
        reply = client.ask("When does the museum open?", documents=["The museum opens at nine."])
        print(reply.answer.text if reply.answer else "no answer")

Events, errors, options and `read_audio` are those of `vivavoce`. All clients of a process share one event loop in a
background thread; they may be used from any thread, and from several at once.
"""

from vivavoce._client import DEFAULT_TARGET
from vivavoce.sync._client import Client, Conversation, connect
from vivavoce.sync._models import ModelAdmin
from vivavoce.sync._pace import pace

__all__ = ["DEFAULT_TARGET", "Client", "Conversation", "ModelAdmin", "connect", "pace"]
