-- Times are milliseconds since 1970 UTC, positions 1e-7 degree, speeds 0.001 km/h, voltages 0.001 V.

CREATE TABLE device (
  device_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: telemetry refers to it
  hardware_id TEXT NOT NULL UNIQUE,
  short_id TEXT NOT NULL UNIQUE,
  device_type TEXT NOT NULL,
  name TEXT,
  group_id INTEGER,
  mqtt_password_hash TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;

-- What changes with every message, apart from the device so that the hot page stays small.
CREATE TABLE device_state (
  device_id INTEGER PRIMARY KEY REFERENCES device (device_id) ON DELETE CASCADE,
  latest TEXT NOT NULL, -- JSON of LatestState
  updated_at_ms INTEGER NOT NULL,
  last_responded_at_ms INTEGER,
  gps_count INTEGER NOT NULL DEFAULT 0,
  gps_first_ms INTEGER,
  gps_last_ms INTEGER,
  battery_count INTEGER NOT NULL DEFAULT 0,
  battery_first_ms INTEGER,
  battery_last_ms INTEGER
) STRICT;

-- seq is the row's place in the log of its stream, for replication; no foreign key: a check per row is dear here.
CREATE TABLE gps (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  device_id INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  lat_e7 INTEGER NOT NULL,
  long_e7 INTEGER NOT NULL,
  speed_milli_kmh INTEGER
) STRICT;
CREATE UNIQUE INDEX gps_by_device ON gps (device_id, at_ms);

CREATE TABLE battery (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  device_id INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  voltage_mv INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX battery_by_device ON battery (device_id, at_ms);

-- Devices taken off the register whose telemetry is still to be deleted, in steps.
CREATE TABLE telemetry_deletion (
  device_id INTEGER PRIMARY KEY
) STRICT;

-- Carries the hardware id itself: who opened what outlives the device's registration.
CREATE TABLE lock_event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  hardware_id TEXT NOT NULL,
  identity TEXT NOT NULL,
  event TEXT NOT NULL,
  source TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  code TEXT,
  command_id TEXT,
  metadata TEXT,
  UNIQUE (hardware_id, identity)
) STRICT;
CREATE INDEX lock_event_by_device ON lock_event (hardware_id, at_ms);
CREATE INDEX lock_event_by_time ON lock_event (at_ms);
CREATE INDEX lock_event_by_code ON lock_event (code, at_ms) WHERE code IS NOT NULL;

CREATE TABLE user (
  user_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT,
  role TEXT NOT NULL,
  is_active INTEGER NOT NULL,
  allowed_hardware_ids TEXT, -- JSON array, or null
  key_hash TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  total_requests INTEGER NOT NULL DEFAULT 0,
  requests_today INTEGER NOT NULL DEFAULT 0,
  last_reset_ms INTEGER NOT NULL,
  first_used_at_ms INTEGER,
  last_used_at_ms INTEGER
) STRICT;

-- Payloads no rule could read, newest 1000.
CREATE TABLE quarantine (
  quarantine_id INTEGER PRIMARY KEY AUTOINCREMENT,
  received_at_ms INTEGER NOT NULL,
  hardware_id TEXT NOT NULL,
  topic TEXT NOT NULL,
  reason TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  payload BLOB NOT NULL -- its first 4096 bytes
) STRICT;
