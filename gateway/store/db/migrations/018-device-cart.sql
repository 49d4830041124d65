-- The cart a device is in, as the people of the course call it; null for one that is a cart of its own.
ALTER TABLE device ADD COLUMN cart TEXT;

-- A head office that was told of devices is told of the new field.
DELETE FROM change_log WHERE entity = 'device' AND key IN (SELECT hardware_id FROM device)
  AND (SELECT site FROM sync_identity) IS NOT NULL;
INSERT OR IGNORE INTO change_log (entity, key) SELECT 'device', hardware_id FROM device ORDER BY device_id;

-- An erasure takes names and codes out of entries; the head office is told of nothing else, for nothing else changes them.
CREATE TRIGGER audit_entry_blanked AFTER UPDATE ON audit_entry BEGIN
  DELETE FROM change_log WHERE entity = 'audit_entry' AND key = NEW.entry_id;
  INSERT INTO change_log (entity, key) VALUES ('audit_entry', NEW.entry_id);
END;
