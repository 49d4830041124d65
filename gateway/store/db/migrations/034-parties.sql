-- Carts that play together: tee time, booking and hand-out.
CREATE TABLE party (
  party_id TEXT PRIMARY KEY,
  date TEXT NOT NULL, -- local day
  tee_time_ms INTEGER,
  start_hole INTEGER,
  holes INTEGER NOT NULL,
  players TEXT NOT NULL DEFAULT '[]', -- JSON: names
  note TEXT,
  external_id TEXT,
  source TEXT NOT NULL, -- hand or sheet
  until_ms INTEGER, -- null for the default
  carts TEXT NOT NULL, -- JSON, in order of hand-out: cart, given_at_ms, by, returned_at_ms, returned
  drivers TEXT, -- JSON: the driver of each of the carts; null without any
  notes TEXT NOT NULL DEFAULT '[]', -- JSON: at_ms, text, by
  made_by TEXT, -- JSON: user_id, name
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX party_by_date ON party (date);
-- those whose names must be deleted some day
CREATE INDEX party_with_names ON party (date) WHERE players <> '[]' OR note IS NOT NULL OR external_id IS NOT NULL OR
  drivers IS NOT NULL OR notes <> '[]';

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
