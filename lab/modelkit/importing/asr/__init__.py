"""Streaming recognizers that were trained elsewhere: readers of NeMo's and transformers' checkpoints, and the export."""
