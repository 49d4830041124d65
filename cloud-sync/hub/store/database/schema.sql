-- Everything a site has begins with its site_id, so that tables can be distributed by it. Times are milliseconds since
-- 1970 UTC. Only what PostgreSQL, Citus, YugabyteDB and CockroachDB all know.

CREATE TABLE IF NOT EXISTS site (
  site_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  intent_seq BIGINT NOT NULL, -- of the last intent
  intents_after BIGINT NOT NULL, -- behind which intent the gateway last asked for more
  intents_sent BIGINT NOT NULL DEFAULT 0, -- up to which intent responses to the gateway went
  epoch TEXT, -- of the last hello
  program TEXT,
  clock_offset_ms BIGINT, -- the gateway's clock less the hub's
  is_clock_trusted BOOLEAN,
  last_hello_ms BIGINT,
  last_seen_ms BIGINT,
  backlog_rows BIGINT,
  backlog_oldest_ms BIGINT,
  two_gateways_ms BIGINT, -- when two gateways of this identity were last seen
  reported_ms BIGINT, -- when the gateway last told of its backlog and what is not confirmed
  unconfirmed_rows BIGINT, -- null while they are not counted
  stored_bytes BIGINT NOT NULL DEFAULT 0, -- what is kept of it: as last counted, and what came since
  counted_bytes BIGINT NOT NULL DEFAULT 0,
  counted_at_ms BIGINT NOT NULL DEFAULT 0 -- 0 before the first time
);

CREATE TABLE IF NOT EXISTS site_key (
  site_id TEXT NOT NULL,
  key_hash TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  revoked_at_ms BIGINT,
  PRIMARY KEY (site_id, key_hash)
);

CREATE TABLE IF NOT EXISTS site_epoch (
  site_id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  forked_from TEXT,
  reason TEXT,
  first_seen_ms BIGINT NOT NULL,
  last_seen_ms BIGINT NOT NULL,
  entities_end BIGINT NOT NULL, -- when the cursor is there, entities of earlier epochs are gone
  PRIMARY KEY (site_id, epoch)
);

-- A gateway that says hello with the database of another site has to be found among all sites.
CREATE INDEX IF NOT EXISTS site_epoch_by_epoch ON site_epoch (epoch, site_id);

CREATE TABLE IF NOT EXISTS site_instance (
  site_id TEXT NOT NULL,
  instance TEXT NOT NULL,
  epoch TEXT NOT NULL,
  first_seen_ms BIGINT NOT NULL,
  last_seen_ms BIGINT NOT NULL,
  PRIMARY KEY (site_id, instance)
);

CREATE TABLE IF NOT EXISTS sync_cursor (
  site_id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  stream TEXT NOT NULL,
  seq BIGINT NOT NULL,
  hash TEXT NOT NULL,
  row_count BIGINT NOT NULL, -- taken so far
  moved_at_ms BIGINT NOT NULL,
  PRIMARY KEY (site_id, epoch, stream)
);

-- Parts of the stream telemetry as they came, until they are made into blocks.
CREATE TABLE IF NOT EXISTS segment (
  site_id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  seq_to BIGINT NOT NULL,
  seq_from BIGINT NOT NULL,
  row_count INTEGER NOT NULL,
  first_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  received_at_ms BIGINT NOT NULL,
  body BYTEA NOT NULL, -- shared/telemetry-runs.ts
  PRIMARY KEY (site_id, epoch, seq_to)
);

-- No two records of a device's stream in blocks have the same time; blocks may overlap.
CREATE TABLE IF NOT EXISTS telemetry_block (
  site_id TEXT NOT NULL,
  hardware_id TEXT NOT NULL,
  stream TEXT NOT NULL, -- gps or battery
  last_ms BIGINT NOT NULL,
  first_ms BIGINT NOT NULL,
  record_count INTEGER NOT NULL,
  body BYTEA NOT NULL, -- shared/telemetry-block.ts
  PRIMARY KEY (site_id, hardware_id, stream, last_ms, first_ms)
);

-- What a site erased, until it is deleted for its age or put back; no other statement reads these two tables.
CREATE TABLE IF NOT EXISTS erased_block (
  site_id TEXT NOT NULL,
  note_id TEXT NOT NULL, -- of the erasure
  stream TEXT NOT NULL,
  last_ms BIGINT NOT NULL,
  hardware_id TEXT NOT NULL,
  erased_at_ms BIGINT NOT NULL, -- clock of the hub
  first_ms BIGINT NOT NULL,
  record_count INTEGER NOT NULL,
  body BYTEA NOT NULL,
  PRIMARY KEY (site_id, note_id, stream, last_ms)
);
CREATE INDEX IF NOT EXISTS erased_block_by_time ON erased_block (site_id, erased_at_ms);

CREATE TABLE IF NOT EXISTS erased_device (
  site_id TEXT NOT NULL,
  hardware_id TEXT NOT NULL,
  erased_at_ms BIGINT NOT NULL, -- clock of the hub
  at_ms BIGINT NOT NULL,
  body TEXT NOT NULL, -- as in site_latest
  PRIMARY KEY (site_id, hardware_id, erased_at_ms)
);

-- Rows of lock_events, geofence_events and notes.
CREATE TABLE IF NOT EXISTS event (
  site_id TEXT NOT NULL,
  stream TEXT NOT NULL,
  event_id TEXT NOT NULL,
  hardware_id TEXT NOT NULL, -- '' for notes
  at_ms BIGINT NOT NULL,
  received_at_ms BIGINT NOT NULL,
  body TEXT NOT NULL, -- JSON of the row, without seq
  seq BIGINT, -- its place in the stream; null for what an earlier program stored
  PRIMARY KEY (site_id, stream, event_id)
);
CREATE INDEX IF NOT EXISTS event_by_time ON event (site_id, stream, at_ms);
CREATE INDEX IF NOT EXISTS event_by_device ON event (site_id, stream, hardware_id, at_ms);

CREATE TABLE IF NOT EXISTS gap (
  site_id TEXT NOT NULL,
  note_id TEXT NOT NULL,
  stream TEXT NOT NULL,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  row_count BIGINT NOT NULL,
  reason TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  PRIMARY KEY (site_id, note_id)
);

-- Parts of the epoch up to these positions have no such records of the device any more.
CREATE TABLE IF NOT EXISTS erasure (
  site_id TEXT NOT NULL,
  note_id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  hardware_id TEXT NOT NULL,
  streams TEXT NOT NULL, -- JSON array
  telemetry_through BIGINT NOT NULL,
  history_through BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  received_at_ms BIGINT NOT NULL,
  PRIMARY KEY (site_id, note_id, epoch)
);

CREATE TABLE IF NOT EXISTS entity (
  site_id TEXT NOT NULL,
  entity_table TEXT NOT NULL,
  entity_key TEXT NOT NULL,
  epoch TEXT NOT NULL,
  seq BIGINT NOT NULL,
  body TEXT, -- JSON; null when it is gone
  PRIMARY KEY (site_id, entity_table, entity_key)
);

-- Entries of the audit logs of gateways; none goes when its gateway deletes it. Of one that was deleted here for its age
-- only what an audit of the sync compares is left, until its gateway does not have it either.
CREATE TABLE IF NOT EXISTS audit_entry (
  site_id TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  epoch TEXT NOT NULL, -- the last that sent it
  seq BIGINT NOT NULL, -- its place in the stream of that epoch
  at_ms BIGINT NOT NULL,
  user_id TEXT,
  action TEXT NOT NULL,
  body TEXT, -- JSON, as it came; null when it was deleted for its age
  row_sum TEXT, -- of one that was deleted: the hash that it has in sums, as hexadecimal digits
  PRIMARY KEY (site_id, entry_id)
);
CREATE INDEX IF NOT EXISTS audit_entry_by_time ON audit_entry (site_id, at_ms);
CREATE INDEX IF NOT EXISTS audit_entry_by_user ON audit_entry (site_id, user_id, at_ms);
CREATE INDEX IF NOT EXISTS audit_entry_by_action ON audit_entry (site_id, action, at_ms);

CREATE TABLE IF NOT EXISTS site_latest (
  site_id TEXT NOT NULL,
  hardware_id TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  body TEXT NOT NULL, -- JSON, as the gateway's GET /devices/:id
  restored_at_ms BIGINT, -- by an admin, although its gateway does not have it
  cart_said TEXT, -- JSON, what the device says of its cart
  PRIMARY KEY (site_id, hardware_id)
);

CREATE TABLE IF NOT EXISTS intent (
  site_id TEXT NOT NULL,
  intent_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  issued_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  base_rev TEXT,
  requested_by TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  finished_at_ms BIGINT,
  PRIMARY KEY (site_id, intent_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS intent_by_seq ON intent (site_id, seq);

CREATE TABLE IF NOT EXISTS audit (
  site_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  day_ms BIGINT NOT NULL, -- -1 for entities
  audited_at_ms BIGINT NOT NULL,
  row_count BIGINT NOT NULL, -- what the gateway says it has
  missing_groups INTEGER NOT NULL,
  extra_count BIGINT NOT NULL, -- rows the gateway does not have
  PRIMARY KEY (site_id, kind, day_ms)
);

-- Groups of which everything was asked for again: with it the hub lacks nothing, whatever else it has.
CREATE TABLE IF NOT EXISTS audit_resend (
  site_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  day_ms BIGINT NOT NULL, -- -1 for entities
  group_name TEXT NOT NULL,
  gateway_rows TEXT NOT NULL, -- count and sum, as the gateway told them
  hub_rows TEXT, -- count and sum once all of them had come; null before
  resent_count BIGINT NOT NULL,
  PRIMARY KEY (site_id, kind, day_ms, group_name)
);

CREATE TABLE IF NOT EXISTS quarantine (
  site_id TEXT NOT NULL,
  quarantine_id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  stream TEXT NOT NULL,
  seq_from BIGINT NOT NULL,
  seq_to BIGINT NOT NULL,
  reason TEXT NOT NULL,
  received_at_ms BIGINT NOT NULL,
  body BYTEA NOT NULL,
  PRIMARY KEY (site_id, quarantine_id)
);

-- Not of a site: people of the head office.
CREATE TABLE IF NOT EXISTS hub_user (
  user_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL, -- admin or viewer
  key_hash TEXT NOT NULL,
  site_ids TEXT, -- JSON array; null for all
  is_active BOOLEAN NOT NULL,
  created_at_ms BIGINT NOT NULL,
  mask_codes BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX IF NOT EXISTS hub_user_by_key ON hub_user (key_hash);

CREATE TABLE IF NOT EXISTS hub_schema_version (
  version INTEGER PRIMARY KEY
);
