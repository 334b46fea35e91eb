"""Fulfilments over HTTP: webhooks, language models, Home Assistant, MCP."""
