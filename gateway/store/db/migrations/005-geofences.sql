-- The zones of a group, or of an id that only the legacy endpoints use. A row stays when its zones are deleted: the
-- version of an id only grows, so a device never takes old zones for new ones.
CREATE TABLE geofence_set (
  group_id INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,
  zones TEXT NOT NULL, -- JSON array of Zone
  updated_at_ms INTEGER NOT NULL
) STRICT;

-- Who entered and left which zone. Carries the hardware id and what the zone was called then: it outlives both.
CREATE TABLE geofence_event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  hardware_id TEXT NOT NULL,
  event TEXT NOT NULL,
  group_id INTEGER NOT NULL,
  zone_id TEXT NOT NULL,
  zone_name TEXT NOT NULL,
  zone_type TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  lat_e7 INTEGER NOT NULL,
  long_e7 INTEGER NOT NULL,
  UNIQUE (hardware_id, zone_id, event, at_ms) -- a batch whose fate is not known is written again
) STRICT;
CREATE INDEX geofence_event_by_device ON geofence_event (hardware_id, at_ms);
CREATE INDEX geofence_event_by_time ON geofence_event (at_ms);
CREATE INDEX geofence_event_by_group ON geofence_event (group_id, at_ms);
CREATE INDEX geofence_event_by_zone ON geofence_event (zone_id, at_ms);
CREATE INDEX geofence_event_by_type ON geofence_event (zone_type, at_ms);

-- JSON of WatchState; null for a device that was never in a group with zones.
ALTER TABLE device_state ADD COLUMN watch TEXT;

-- What only the gateway knows and signs with, made at the first start.
CREATE TABLE secret (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
