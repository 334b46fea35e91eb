"""Cache-aware FastConformer: streaming recognition, imported from checkpoints.

Noroozi et al. 2024, "Stateful Conformer with Cache-based Inference for Streaming Automatic Speech Recognition". The
encoder reads whole chunks of audio with a bounded left context and a look-ahead inside the chunk; the state between
two chunks has a constant size. ``features`` makes log-mel frames, ``encoder`` runs one chunk of many streams,
``transducer`` and ``ctc`` turn its output into tokens, ``recognizer`` serves all of it. ``network`` is the same in
PyTorch: what an import exports.
"""
