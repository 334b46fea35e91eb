"""The asyncio gRPC server: servicers, admission, health, errors and the lifecycle. Knows gRPC and no models."""
