"""Tables of a knowledge base in SQLite."""

from __future__ import annotations

VERSION = "1"
"""Version of the tables, in ``about``; files of another version are built anew."""
APPLICATION_ID = 0x56564B42
"""Marks a SQLite file as a knowledge base: "VVKB"."""

CREATE = f"""
DROP TABLE IF EXISTS texts;
DROP TABLE IF EXISTS passages;
DROP TABLE IF EXISTS documents;
DROP TABLE IF EXISTS about;
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    content_hash TEXT NOT NULL
);
-- Ids are never given twice: an id that a reader knows always has the vector that it knows.
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id),
    number INTEGER NOT NULL,
    page INTEGER,
    headings TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX passages_of ON passages (document);
CREATE VIRTUAL TABLE texts USING fts5 (title, headings, body, tokenize = 'porter unicode61 remove_diacritics 2');
PRAGMA application_id = {APPLICATION_ID};
"""
"""Makes a base anew, in place of one of another version or of other embeddings."""
RANKED = """
SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?
"""
FOUND = """
SELECT documents.path, documents.title, passages.number, passages.page, passages.headings, texts.body
FROM passages JOIN documents ON documents.id = passages.document JOIN texts ON texts.rowid = passages.id
WHERE passages.id = ?
"""
