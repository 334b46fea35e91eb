"""What carries out the fulfilments of agents over HTTP: webhooks, language models, Home Assistant."""
