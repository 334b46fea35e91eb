"""WebRTC: one client's tracks and data channel, on aiortc; imported where it is served."""
