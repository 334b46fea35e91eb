"""The service beside what else one could have built with the same models, in the same run.

``naive`` is the naive baseline: everything in one process, one utterance after another.
"""
