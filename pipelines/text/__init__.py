"""Style of transcripts: punctuation, figures, masks."""
