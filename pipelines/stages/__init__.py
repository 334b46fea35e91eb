"""What is computed for a turn: intent and answer."""
