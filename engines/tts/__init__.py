"""Speech synthesis: words and phonemes in, samples out, piece by piece."""
