-- +goose Up

-- What the newest event's place and hash were, as PLACE:HASH. It is older than
-- the place where a program that does not know it has added events. MySQL itself
-- has no ADD COLUMN IF NOT EXISTS.
SET @tail = (
    SELECT IF(COUNT(*) = 0, 'ALTER TABLE journal ADD COLUMN tail VARCHAR(191)', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'journal' AND column_name = 'tail'
);
PREPARE add_tail FROM @tail;
EXECUTE add_tail;
DEALLOCATE PREPARE add_tail;
