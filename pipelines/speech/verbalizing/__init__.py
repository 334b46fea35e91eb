"""Writes figures, signs and abbreviations in words, as they are spoken.

``numbers`` knows figures alone, ``moments`` dates and times, ``written`` finds them in a text, and ``say_as`` reads a
text of which it was said what it is.
"""
