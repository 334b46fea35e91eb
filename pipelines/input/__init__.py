"""The way of sound into a conversation: what it becomes (`AudioInput`), and when it is let in (`InputGate`)."""
