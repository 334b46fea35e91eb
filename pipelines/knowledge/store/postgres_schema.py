"""Tables of knowledge bases in PostgreSQL."""

from __future__ import annotations

VERSION = 1
"""Version of the tables."""
SCHEMA = f"vivavoce_knowledge_{VERSION}"
"""Schema of the tables. Each version has its own: an older service goes on while bases are built for a newer."""

CREATE = f"""
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.bases (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    embedding text NOT NULL,
    dimensions integer NOT NULL,
    passages integer NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS {SCHEMA}.documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    base integer NOT NULL REFERENCES {SCHEMA}.bases ON DELETE CASCADE,
    path text NOT NULL,
    title text NOT NULL,
    content_hash text NOT NULL,
    UNIQUE (base, path)
);
CREATE TABLE IF NOT EXISTS {SCHEMA}.passages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    base integer NOT NULL REFERENCES {SCHEMA}.bases ON DELETE CASCADE,
    document bigint NOT NULL REFERENCES {SCHEMA}.documents ON DELETE CASCADE,
    number integer NOT NULL,
    page integer,
    headings jsonb NOT NULL,
    body text NOT NULL,
    words tsvector NOT NULL,
    embedding vector NOT NULL
);
CREATE INDEX IF NOT EXISTS passages_of ON {SCHEMA}.passages (document);
-- In how many passages of a base a word stands: PostgreSQL's own ranking does not tell rare words from common ones.
CREATE TABLE IF NOT EXISTS {SCHEMA}.lexemes (
    base integer NOT NULL REFERENCES {SCHEMA}.bases ON DELETE CASCADE,
    lexeme text NOT NULL,
    passages integer NOT NULL,
    PRIMARY KEY (base, lexeme)
);
"""
ADD_BASE = f"INSERT INTO {SCHEMA}.bases (name, embedding, dimensions) VALUES (%s, %s, %s) RETURNING id"
BASE = f"SELECT id, embedding, dimensions FROM {SCHEMA}.bases WHERE name = %s"
REMOVE_BASE = f"DELETE FROM {SCHEMA}.bases WHERE id = %s"
COUNT = f"""
SELECT count(*), COALESCE(min(bases.passages), 0)
FROM {SCHEMA}.bases LEFT JOIN {SCHEMA}.documents ON documents.base = bases.id
WHERE bases.name = %s AND documents.id IS NOT NULL
"""
HASHES = f"""
SELECT path, content_hash FROM {SCHEMA}.documents JOIN {SCHEMA}.bases ON bases.id = documents.base WHERE bases.name = %s
"""
ADD_DOCUMENT = f"INSERT INTO {SCHEMA}.documents (base, path, title, content_hash) VALUES (%s, %s, %s, %s) RETURNING id"
ADD_PASSAGE = f"""
INSERT INTO {SCHEMA}.passages (base, document, number, page, headings, body, words, embedding)
VALUES (%s, %s, %s, %s, %s, %s, to_tsvector('english', %s), %s)
"""
COUNT_IN = f"""
WITH counted AS (
    SELECT lexeme, count(*) AS passages FROM {SCHEMA}.passages, unnest(tsvector_to_array(words)) AS lexeme
    WHERE document = %(document)s GROUP BY lexeme ORDER BY lexeme
), kept AS (
    INSERT INTO {SCHEMA}.lexemes AS known SELECT %(base)s, lexeme, passages FROM counted
    ON CONFLICT (base, lexeme) DO UPDATE SET passages = known.passages + excluded.passages
)
UPDATE {SCHEMA}.bases SET passages = passages + %(passages)s WHERE id = %(base)s
"""
"""Counts a document in that has been added."""
REMOVE_DOCUMENT = f"""
WITH gone AS (
    DELETE FROM {SCHEMA}.passages USING {SCHEMA}.documents
    WHERE passages.document = documents.id AND documents.base = %(base)s AND documents.path = %(path)s
    RETURNING passages.words
), counted AS (
    SELECT lexeme, count(*) AS passages FROM gone, unnest(tsvector_to_array(words)) AS lexeme GROUP BY lexeme
), less AS (
    UPDATE {SCHEMA}.lexemes AS known SET passages = known.passages - counted.passages FROM counted
    WHERE known.base = %(base)s AND known.lexeme = counted.lexeme
)
UPDATE {SCHEMA}.bases SET passages = passages - (SELECT count(*) FROM gone) WHERE id = %(base)s
"""
"""Removes the passages of a document, and counts them out."""
FORGET_DOCUMENT = f"DELETE FROM {SCHEMA}.documents WHERE base = %s AND path = %s"

LOOK_UP = f"""
SELECT bases.id, bases.embedding, bases.dimensions, bases.passages, lexemes.lexeme, lexemes.passages
FROM {SCHEMA}.bases LEFT JOIN {SCHEMA}.lexemes
    ON lexemes.base = bases.id AND lexemes.passages > 0
    AND lexemes.lexeme = ANY (tsvector_to_array(to_tsvector('english', %s)))
WHERE bases.name = %s
"""
"""What a base is, and how common the words of a question are in it."""
FOUND = f"""
SELECT passages.id, documents.path, documents.title, number, page, headings, body
FROM {SCHEMA}.passages JOIN {SCHEMA}.documents ON documents.id = passages.document WHERE passages.id = ANY (%s)
"""


def indexes(base: int, dimensions: int) -> str:
    """Return the statements of a base's own indexes."""
    return f"""
    CREATE INDEX words_{base} ON {SCHEMA}.passages USING gin (words) WHERE base = {base};
    CREATE INDEX vectors_{base} ON {SCHEMA}.passages
        USING hnsw ((embedding::vector({dimensions})) vector_ip_ops) WHERE base = {base};
    """


def drop_indexes(base: int) -> str:
    """Return what drops the indexes of a base."""
    return f"DROP INDEX IF EXISTS {SCHEMA}.words_{base}, {SCHEMA}.vectors_{base}"


def ranked_by_words(base: int, terms: int) -> str:
    """Return the query for passages with any of some words, the best first.

    Args:
        base: id of the base.
        terms: number of words that are weighed, each by a weight and its own query.
    """
    score = " + ".join(["%s * ts_rank('{1, 1, 1, 1}', words, %s::tsquery)"] * terms)
    # The number of the base stands in the text, so that the planner knows which index holds it.
    return f"""
    SELECT id FROM {SCHEMA}.passages WHERE base = {base} AND words @@ %s::tsquery
    ORDER BY {score} DESC, id LIMIT %s
    """


def ranked_by_meaning(base: int, dimensions: int) -> str:
    """Return the query for the passages of greatest cosine."""
    kind = f"vector({dimensions})"
    return f"""
    SELECT id FROM {SCHEMA}.passages WHERE base = {base} ORDER BY (embedding::{kind}) <#> %s::{kind} LIMIT %s
    """
