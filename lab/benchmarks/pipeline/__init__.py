"""What a network costs and carries as a pipeline of stages, beside the whole."""
