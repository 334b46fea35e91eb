"""How transcripts are written: punctuation, figures, masks."""
