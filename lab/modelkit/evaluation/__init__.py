"""Judges engines on labelled data, through a running service or in this process.

Each task has a file of its own, ``asr``, ``nlu``, ``qa`` and ``commands``: its coroutine takes engines and items and
returns an :class:`modelkit.evaluation.outcome.Evaluation`. ``vivavoce eval`` is the command line.
"""
