-- An entry never changes. When it goes for its age the head office keeps it, so that nobody is told.
CREATE TRIGGER audit_entry_made AFTER INSERT ON audit_entry BEGIN
  INSERT INTO change_log (entity, key) VALUES ('audit_entry', NEW.entry_id);
END;
CREATE TRIGGER audit_entry_gone AFTER DELETE ON audit_entry BEGIN
  DELETE FROM change_log WHERE entity = 'audit_entry' AND key = OLD.entry_id;
END;

INSERT INTO change_log (entity, key) SELECT 'audit_entry', entry_id FROM audit_entry ORDER BY seq;
