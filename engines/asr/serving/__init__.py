"""Serving of streams for any recognizer: sequences, queues, workers, partials."""
