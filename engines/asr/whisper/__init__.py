"""Whisper (Radford et al. 2022) on CTranslate2, for many languages."""
