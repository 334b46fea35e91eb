"""Starting and supervising the Triton Inference Server that the service stands on."""
