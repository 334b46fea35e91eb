"""What any recognizer needs to serve streams: sequences, queues, workers and the schedule of partial results."""
