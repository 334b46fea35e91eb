"""Recognition alone, ours beside others, on the same recordings in the same run.

``material`` cuts recordings into utterances, ``contenders`` names who competes and how, ``systems`` and ``peers`` run
them, each in a process of its own (``worker``) that may use so many cores and no more, ``race`` lets them take turns,
and ``report`` says what came of it.
"""
