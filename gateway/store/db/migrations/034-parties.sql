-- Carts that play together: tee time, booking and hand-out.
CREATE TABLE party (
  party_id TEXT PRIMARY KEY,
  date TEXT NOT NULL, -- local day
  updated_at_ms INTEGER NOT NULL,
  body TEXT NOT NULL, -- JSON: all fields but the names
  names TEXT -- JSON: players, drivers, note, notes; null without any, and once they are deleted
) STRICT;
CREATE INDEX party_by_date ON party (date);
-- those whose names must be deleted some day
CREATE INDEX party_with_names ON party (date) WHERE names IS NOT NULL;

CREATE TRIGGER party_made AFTER INSERT ON party BEGIN
  DELETE FROM change_log WHERE entity = 'party' AND key = NEW.party_id;
  INSERT INTO change_log (entity, key) VALUES ('party', NEW.party_id);
END;
CREATE TRIGGER party_changed AFTER UPDATE ON party BEGIN
  DELETE FROM change_log WHERE entity = 'party' AND key = NEW.party_id;
  INSERT INTO change_log (entity, key) VALUES ('party', NEW.party_id);
END;
CREATE TRIGGER party_gone AFTER DELETE ON party BEGIN
  DELETE FROM change_log WHERE entity = 'party' AND key = OLD.party_id;
  INSERT INTO change_log (entity, key) VALUES ('party', OLD.party_id);
END;

-- The last local day on which names of golfers were deleted: a setting that changes later acts on the next.
CREATE TABLE name_deletion (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  date TEXT NOT NULL
) STRICT;
