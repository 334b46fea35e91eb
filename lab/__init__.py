"""The laboratory: ``modelkit`` makes and judges models, ``benchmarks`` measures; nothing that serves knows it."""
