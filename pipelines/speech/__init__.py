"""Speech out: texts and SSML become sentences, sentences become words, and words are spoken and encoded.

``markup`` and ``ssml`` read what a caller wrote as spans, ``lexicon`` puts pronunciations in, ``sentences`` cuts spans
into sentences, ``verbalizing`` writes figures and signs in words, and ``synthesis`` has the sentences spoken.
"""
