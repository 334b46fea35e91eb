"""Sound on its way into a conversation: `AudioInput` and `InputGate`."""
