"""Admission control: how many conversations are let in."""
