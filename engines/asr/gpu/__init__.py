"""Moonshine on a GPU, computed by PyTorch instead of onnxruntime.

The recordings of a batch stand end to end, without padding, for the convolutions and the encoder (``layout``,
``encoder``). The decoder (``decoder``) has a static cache for the keys and values of its rows. Both run in rooms
(``room``), one for each batch under way, whose sizes are recorded as CUDA graphs. ``networks`` offers them to
``engines.asr.moonshine.model``, which keeps drafts, hints, alternatives and word times as they are on the CPU.

Only ``layout``, ``names`` and ``sizes`` can be imported without PyTorch.
"""
