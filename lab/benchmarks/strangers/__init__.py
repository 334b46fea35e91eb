"""A conversation measured at the audio by voicebench, another project's analyzer (Apache 2.0)."""
