-- +goose Up

-- What the newest event's place and hash were, as PLACE:HASH. It is older than
-- the place where a program that does not know it has added events.
ALTER TABLE journal ADD COLUMN tail TEXT;
