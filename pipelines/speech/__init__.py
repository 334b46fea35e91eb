"""Speech out: from text and SSML to sentences, words and encoded audio.

``markup`` and ``ssml`` read what a caller wrote as spans, ``lexicon`` puts pronunciations in, ``sentences`` cuts spans
into sentences, ``verbalizing`` writes figures and signs in words, and ``synthesis`` has the sentences spoken.
"""
