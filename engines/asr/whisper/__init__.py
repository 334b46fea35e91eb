"""Whisper (Radford et al. 2022) on CTranslate2: recognition in many languages, and translation into English."""
