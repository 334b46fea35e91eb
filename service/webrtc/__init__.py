"""WebRTC on aiortc: a client's tracks and data channel."""
