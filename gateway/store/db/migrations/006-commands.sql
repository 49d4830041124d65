-- What devices were told to do. Carries the hardware id itself: who asked for what outlives the device's registration.
CREATE TABLE command (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  command_id TEXT NOT NULL UNIQUE,
  hardware_id TEXT NOT NULL,
  short_id TEXT NOT NULL,
  device_type TEXT NOT NULL,
  command TEXT NOT NULL,
  params TEXT NOT NULL, -- JSON
  metadata TEXT, -- JSON
  ttl_s INTEGER NOT NULL,
  status TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  retry_of TEXT,
  created_at_ms INTEGER NOT NULL,
  published_at_ms INTEGER,
  acknowledged_at_ms INTEGER,
  completed_at_ms INTEGER,
  error TEXT,
  late_ack TEXT -- JSON
) STRICT;
CREATE INDEX command_by_device ON command (hardware_id, seq);
CREATE INDEX command_by_status ON command (status, seq);
CREATE INDEX command_by_time ON command (created_at_ms);
CREATE INDEX command_unfinished ON command (hardware_id, seq)
  WHERE status IN ('pending', 'published', 'acknowledged');

-- How many there are, counted as they come and go.
CREATE TABLE command_count (
  command_count_id INTEGER PRIMARY KEY CHECK (command_count_id = 1),
  commands INTEGER NOT NULL
) STRICT;
INSERT INTO command_count (command_count_id, commands) VALUES (1, 0);

-- What a request with an Idempotency-Key created, for when it comes again.
CREATE TABLE idempotency_key (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  command_ids TEXT NOT NULL, -- JSON array
  created_at_ms INTEGER NOT NULL,
  UNIQUE (user_id, key)
) STRICT;
CREATE INDEX idempotency_key_by_time ON idempotency_key (created_at_ms);
