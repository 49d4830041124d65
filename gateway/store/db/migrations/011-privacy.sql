-- Codes of lock events are shown to the user as asterisks but for their last two characters.
ALTER TABLE user ADD COLUMN mask_codes INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER user_changed;
CREATE TRIGGER user_changed AFTER UPDATE OF name, email, role, is_active, allowed_hardware_ids, mask_codes ON user
WHEN (OLD.name, OLD.email, OLD.role, OLD.is_active, OLD.allowed_hardware_ids, OLD.mask_codes)
  IS NOT (NEW.name, NEW.email, NEW.role, NEW.is_active, NEW.allowed_hardware_ids, NEW.mask_codes) BEGIN
  DELETE FROM change_log WHERE entity = 'user' AND key = NEW.user_id;
  INSERT INTO change_log (entity, key) VALUES ('user', NEW.user_id);
END;

-- A head office that was told of users is told of the new field.
DELETE FROM change_log WHERE entity = 'user' AND key IN (SELECT user_id FROM user)
  AND (SELECT site FROM sync_identity) IS NOT NULL;
INSERT OR IGNORE INTO change_log (entity, key) SELECT 'user', user_id FROM user ORDER BY created_at_ms, user_id;

-- Who changed what, and sent which command; written with the change itself.
CREATE TABLE audit_entry (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  entry_id TEXT NOT NULL UNIQUE,
  at_ms INTEGER NOT NULL,
  user_id TEXT, -- null for the gateway itself and the head office
  person TEXT, -- of sessions of people, which are to come
  session_id TEXT,
  address TEXT,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  before TEXT, -- JSON object of what was different, or null
  after TEXT
) STRICT;
CREATE INDEX audit_entry_by_time ON audit_entry (at_ms);
CREATE INDEX audit_entry_by_user ON audit_entry (user_id, at_ms);
CREATE INDEX audit_entry_by_action ON audit_entry (action, at_ms);
