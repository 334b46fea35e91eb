"""Readers of documents: text, Markdown, HTML, PDF and DOCX become blocks with headings and pages, then passages."""
