-- What a lock was sent in spite of: 'locating' for an unknown position, 'all' for anything; null for nothing.
ALTER TABLE command ADD COLUMN forced TEXT;

-- What a request that is repeated is answered beside its commands: JSON.
ALTER TABLE idempotency_key ADD COLUMN outcome TEXT;

-- When the gateway itself locked each device last, found at a start.
CREATE INDEX command_by_auto_lock ON command (hardware_id, seq, created_at_ms) WHERE requested_by = 'auto-lock';

-- Local days on which the carts were locked at closing time.
CREATE TABLE closing (
  date TEXT PRIMARY KEY,
  closed_at_ms INTEGER NOT NULL,
  waiting TEXT NOT NULL -- JSON array: carts that were in, and out of reach
) STRICT;
