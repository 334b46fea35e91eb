"""What the settings of the BERT models do: batches, queue delays, instances, threads, and several models at once."""
