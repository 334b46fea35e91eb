"""NVIDIA's dialect of the realtime protocol, for ``riva.client.realtime``."""
