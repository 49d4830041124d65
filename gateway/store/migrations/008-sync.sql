-- What a head office is to get, by reference: nothing is stored twice. Kept with or without a head office, so that one
-- that is configured later gets everything.

CREATE TABLE sync_identity (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  epoch TEXT NOT NULL, -- 32 hexadecimal digits; another after a restore
  site TEXT, -- as which this database is replicated
  forked_from TEXT -- JSON, or null
) STRICT;
INSERT INTO sync_identity (only, epoch) VALUES (1, lower(hex(randomblob(16))));

-- What the head office was last known to have.
CREATE TABLE sync_cursor (
  stream TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Blocks with records that were not acknowledged as samples of the log. A block that takes their place has a new entry.
CREATE TABLE block_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  block_id INTEGER NOT NULL UNIQUE
) STRICT;
INSERT INTO block_log (block_id) SELECT block_id FROM telemetry_block ORDER BY last_ms;

-- Which rows changed; a later change of the same row takes the place of its entry. The row itself is read when it is sent.
CREATE TABLE change_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  entity TEXT NOT NULL, -- table
  key TEXT NOT NULL,
  UNIQUE (entity, key)
) STRICT;

-- What this gateway tells of itself and its data: gaps, erasures, results of intents. Times in milliseconds.
CREATE TABLE note (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  note_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  body TEXT NOT NULL -- JSON
) STRICT;

-- Positions no part of telemetry or history may reach across until the note of an erasure is acknowledged.
CREATE TABLE erase_mark (
  note_seq INTEGER PRIMARY KEY,
  telemetry_seq INTEGER NOT NULL,
  history_seq INTEGER NOT NULL
) STRICT;

-- Wishes of the head office that were received, so that each is fulfilled once.
CREATE TABLE intent_inbox (
  intent_id TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  received_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
