-- Samples of one transaction each, in the order they were committed: what is not in a block yet.
CREATE TABLE telemetry_log (
  first_seq INTEGER PRIMARY KEY, -- of its first sample; the others follow, and the next row goes on after the last
  samples BLOB NOT NULL -- telemetry-batch.ts
) STRICT;

CREATE TABLE telemetry_log_end (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  next_seq INTEGER NOT NULL, -- where the log goes on when it is empty: a sequence number is never used twice
  cuts INTEGER NOT NULL -- how many times rows were deleted
) STRICT;
INSERT INTO telemetry_log_end (only, next_seq, cuts) VALUES (1, 1, 0);

-- Blocks of a device's stream never overlap in time; no foreign key: blocks outlive the device until they are deleted.
CREATE TABLE telemetry_block (
  block_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: what a thread remembers of a block stays true
  device_id INTEGER NOT NULL,
  stream TEXT NOT NULL, -- gps or battery
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  count INTEGER NOT NULL,
  records BLOB NOT NULL -- telemetry-block.ts
) STRICT;
CREATE UNIQUE INDEX telemetry_block_by_device ON telemetry_block (device_id, stream, first_ms);

-- Blocks that are not what was written. They are kept for whoever may repair them, and read by nobody.
CREATE TABLE damaged_block (
  block_id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL,
  stream TEXT NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  count INTEGER NOT NULL,
  reason TEXT NOT NULL,
  found_at_ms INTEGER NOT NULL,
  records BLOB NOT NULL
) STRICT;
