-- The registration of the device an event is of, by its short_id: a hardware_id may be registered again. Null in rows from
-- before this column; they are of the registration they fall into by time, and are replicated as they were.
ALTER TABLE lock_event ADD COLUMN short_id TEXT;
ALTER TABLE geofence_event ADD COLUMN short_id TEXT;

-- A lock event is the same if its registration, its own id, its kind and its time are: those of before by what is known.
UPDATE lock_event SET identity = (
    SELECT short_id || ' ' || lock_event.identity
      || iif(lock_event.identity LIKE 'eid:%', '/' || lock_event.event || '/' || lock_event.at_ms, '')
    FROM device WHERE device.hardware_id = lock_event.hardware_id)
  WHERE EXISTS (SELECT 1 FROM device
    WHERE device.hardware_id = lock_event.hardware_id AND lock_event.at_ms >= device.created_at_ms);

-- All that lists of the fleet ask for is in the index, so that rows which are skipped or do not match are not read.
DROP INDEX lock_event_by_time;
CREATE INDEX lock_event_by_time ON lock_event (at_ms, seq, hardware_id, source, event);
DROP INDEX geofence_event_by_time;
CREATE INDEX geofence_event_by_time ON geofence_event (at_ms, seq, hardware_id, event);
CREATE INDEX command_by_name ON command (command, seq);
