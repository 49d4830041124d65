-- Each index is a page more that a transaction with a zone event writes, and again when it is copied into the database.
-- event_id is made of device, zone, kind and time: that they are unique needs no index of its own. One that has all that a
-- list asks for, in the order of time, stands for those by device, group, zone and type.
CREATE TABLE zone_event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE, -- a batch whose fate is not known is written again
  hardware_id TEXT NOT NULL,
  event TEXT NOT NULL,
  group_id INTEGER NOT NULL,
  zone_id TEXT NOT NULL,
  zone_name TEXT NOT NULL,
  zone_type TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  lat_e7 INTEGER NOT NULL,
  long_e7 INTEGER NOT NULL,
  short_id TEXT
) STRICT;
INSERT INTO zone_event SELECT seq, event_id, hardware_id, event, group_id, zone_id, zone_name, zone_type, at_ms, lat_e7,
  long_e7, short_id FROM geofence_event ORDER BY seq;
-- the numbers of rows that were deleted are not given again
DELETE FROM sqlite_sequence WHERE name = 'zone_event';
INSERT INTO sqlite_sequence (name, seq) SELECT 'zone_event', seq FROM sqlite_sequence WHERE name = 'geofence_event';
DROP TABLE geofence_event;
ALTER TABLE zone_event RENAME TO geofence_event;
CREATE INDEX geofence_event_by_time
  ON geofence_event (at_ms, seq, hardware_id, event, zone_id, group_id, zone_type, short_id);
