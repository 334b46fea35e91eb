"""Everything that makes or judges a model: data loaders, training, export, compression, scores."""
