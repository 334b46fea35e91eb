"""OpenAI's audio contract over HTTP and WebSockets."""
