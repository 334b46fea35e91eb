"""Turns networks that were made elsewhere into engine directories.

Readers, one a format (``hugging_face``, ``onnx_file``, ``nemo``), give an :class:`modelkit.importing.engine.Imported`;
``engine`` checks it in the session that will serve it, and writes it. What a reader is given is not trusted: no pickle
may run code, no archive may write a file, and what does not fit is refused before anything is written.
"""
