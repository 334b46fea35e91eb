"""What the BERT networks carry on a GPU, through Triton's gRPC: ``python -m benchmarks.gpu --out DIR``.

``plan`` says what is measured and against which goals. Each of the phases ``ceilings``, ``correctness``, ``throughput``
(once a network) and ``chain`` is a process of its own with a time limit, and writes its results as they come
(``sheet``): whatever fails or runs out of time, the rest is there. ``report`` makes tables of them.
"""
