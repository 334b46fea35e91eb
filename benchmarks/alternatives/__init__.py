"""The service beside what else one could have built with the same models, in the same run.

``afternoon`` is what is written in an afternoon: everything in one process, one utterance after another.
"""
