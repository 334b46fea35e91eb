"""Speaker diarization: voices of a conversation told apart as it goes on."""
