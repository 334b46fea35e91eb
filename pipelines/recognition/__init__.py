"""Speech recognition of a conversation, segment by segment."""
