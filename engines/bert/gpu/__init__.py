"""BERT networks on a GPU: the same Triton models, computed by PyTorch.

The tokens of all requests stand one after another without padding (``packing``), rounded up to one of a few sizes,
each of which is a CUDA graph (``runs``). A layer (``encoder``) is four matrix products (``linear``: half precision, FP8
or INT8), an attention over sequences of any length (``engines.gpu.attention``) and fused steps between them
(``kernels``; ``ops`` says in plain PyTorch what they compute). ``selection`` takes at start the fastest of what agrees
with float32, ``session`` serves requests, and ``serving`` overlaps them inside Triton.

Only ``packing`` can be imported without PyTorch, and nothing but this package imports it for serving.
"""
