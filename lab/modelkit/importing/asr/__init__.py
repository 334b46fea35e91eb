"""Streaming recognizers that were trained elsewhere: readers and the export."""
