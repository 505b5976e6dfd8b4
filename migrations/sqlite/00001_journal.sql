-- +goose Up

-- One row: the place of the newest event, and the epoch of the newest leader.
-- Whoever appends writes it first, so appends never overlap.
CREATE TABLE journal (
    id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    place INTEGER NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;

INSERT INTO journal (id, place, epoch) VALUES (1, 0, 0);

-- Each rollout's events, folded.
CREATE TABLE rollouts (
    name    TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    state   TEXT    NOT NULL CHECK (json_valid(state))
) STRICT;

-- The truth. The body is the event; the other columns repeat what is searched
-- for, and the hash covers the body and the hash of the place before.
CREATE TABLE events (
    place   INTEGER NOT NULL PRIMARY KEY,
    rollout TEXT    NOT NULL REFERENCES rollouts (name),
    seq     INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    request TEXT,
    body    TEXT    NOT NULL CHECK (json_valid(body)),
    hash    BLOB    NOT NULL CHECK (length(hash) = 32),
    UNIQUE (rollout, seq),
    UNIQUE (rollout, request)
) STRICT;

-- Databases and flag keys that belong to one rollout.
CREATE TABLE claims (
    kind   TEXT NOT NULL,
    name   TEXT NOT NULL,
    holder TEXT NOT NULL REFERENCES rollouts (name),
    PRIMARY KEY (kind, name)
) STRICT;

-- How far each reader of the events has come.
CREATE TABLE readers (
    name  TEXT    NOT NULL PRIMARY KEY,
    place INTEGER NOT NULL
) STRICT;
