-- +goose Up

-- One row: the place of the newest event, and the epoch of the newest leader.
-- Whoever appends writes it first, so appends never overlap.
CREATE TABLE IF NOT EXISTS journal (
    id    BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    place BIGINT NOT NULL,
    epoch BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT IGNORE INTO journal (id, place, epoch) VALUES (1, 0, 0);

-- Each rollout's events, folded.
CREATE TABLE IF NOT EXISTS rollouts (
    name    VARCHAR(191) NOT NULL PRIMARY KEY,
    version BIGINT       NOT NULL,
    state   LONGTEXT     NOT NULL CHECK (json_valid(state))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The truth. The body is the event; the other columns repeat what is searched
-- for, and the hash covers the body and the hash of the place before.
CREATE TABLE IF NOT EXISTS events (
    place   BIGINT       NOT NULL PRIMARY KEY,
    rollout VARCHAR(191) NOT NULL,
    seq     BIGINT       NOT NULL,
    kind    VARCHAR(191) NOT NULL,
    at      BIGINT       NOT NULL,
    request VARCHAR(191),
    body    LONGTEXT     NOT NULL CHECK (json_valid(body)),
    hash    BINARY(32)   NOT NULL,
    UNIQUE (rollout, seq),
    UNIQUE (rollout, request),
    FOREIGN KEY (rollout) REFERENCES rollouts (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Databases and flag keys that belong to one rollout.
CREATE TABLE IF NOT EXISTS claims (
    kind   VARCHAR(191) NOT NULL,
    name   VARCHAR(191) NOT NULL,
    holder VARCHAR(191) NOT NULL,
    PRIMARY KEY (kind, name),
    FOREIGN KEY (holder) REFERENCES rollouts (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- How far each reader of the events has come.
CREATE TABLE IF NOT EXISTS readers (
    name  VARCHAR(191) NOT NULL PRIMARY KEY,
    place BIGINT       NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
