"""The gRPC server: listening, first messages, errors and deserializers."""
