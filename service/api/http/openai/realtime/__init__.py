"""OpenAI's realtime protocol over a WebSocket: its events become calls of a conversation, and messages its events."""
