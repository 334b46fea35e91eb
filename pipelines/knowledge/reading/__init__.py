"""Readers of text, Markdown, HTML, PDF and DOCX, and cutting into passages."""
