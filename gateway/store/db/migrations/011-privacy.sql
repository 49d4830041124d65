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
