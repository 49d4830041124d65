-- What people were warned of. Texts are each client's own: kind and details are kept.
CREATE TABLE alert (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  alert_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  cart TEXT, -- null for the site
  hardware_id TEXT,
  subject TEXT NOT NULL, -- what of the cart or the site it is about: a zone_id, a user_id; empty where there is one only
  opened_at_ms INTEGER NOT NULL,
  closed_at_ms INTEGER,
  acknowledged_at_ms INTEGER,
  acknowledged_by TEXT, -- JSON
  note TEXT,
  details TEXT NOT NULL, -- JSON
  awaits_end INTEGER NOT NULL DEFAULT 0, -- closed by a person while what it tells of goes on
  -- where it was over, in 1e-7 degree, if that says whether the next one is another
  lat_e7 INTEGER,
  long_e7 INTEGER
) STRICT;
CREATE UNIQUE INDEX alert_not_closed ON alert (kind, ifnull(cart, ''), subject) WHERE closed_at_ms IS NULL;
CREATE INDEX alert_awaiting_end ON alert (alert_id) WHERE awaits_end = 1;
CREATE INDEX alert_by_time ON alert (opened_at_ms, seq);
CREATE INDEX alert_by_cart ON alert (cart, opened_at_ms, seq);
CREATE INDEX alert_by_closing ON alert (closed_at_ms, seq) WHERE closed_at_ms IS NOT NULL;

-- The last closing time that was told of: each local day closes once, whatever its hours are set to later.
CREATE TABLE closed_day (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  date TEXT NOT NULL,
  closes_at_ms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER alert_made AFTER INSERT ON alert BEGIN
  DELETE FROM change_log WHERE entity = 'alert' AND key = NEW.alert_id;
  INSERT INTO change_log (entity, key) VALUES ('alert', NEW.alert_id);
END;
CREATE TRIGGER alert_changed AFTER UPDATE OF closed_at_ms, acknowledged_at_ms, acknowledged_by, note, details ON alert BEGIN
  DELETE FROM change_log WHERE entity = 'alert' AND key = NEW.alert_id;
  INSERT INTO change_log (entity, key) VALUES ('alert', NEW.alert_id);
END;
-- They go for their age, as commands do: as long as nobody was sent anything, nobody has to be told.
CREATE TRIGGER alert_gone AFTER DELETE ON alert BEGIN
  DELETE FROM change_log WHERE entity = 'alert' AND key = OLD.alert_id;
  INSERT INTO change_log (entity, key)
    SELECT 'alert', OLD.alert_id FROM sync_identity WHERE site IS NOT NULL;
END;
