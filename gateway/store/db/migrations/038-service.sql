-- The service book: what was done to carts, plans for it, and how much each cart was used.
CREATE TABLE service_entry (
  entry_id TEXT PRIMARY KEY,
  cart TEXT NOT NULL,
  plan_id TEXT,
  done_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  entry TEXT NOT NULL -- JSON: the entry as the API shows it
) STRICT;
CREATE INDEX service_entry_by_cart ON service_entry (cart, done_at_ms);

CREATE TRIGGER service_entry_made AFTER INSERT ON service_entry BEGIN
  DELETE FROM change_log WHERE entity = 'service_entry' AND key = NEW.entry_id;
  INSERT INTO change_log (entity, key) VALUES ('service_entry', NEW.entry_id);
END;
CREATE TRIGGER service_entry_changed AFTER UPDATE ON service_entry BEGIN
  DELETE FROM change_log WHERE entity = 'service_entry' AND key = NEW.entry_id;
  INSERT INTO change_log (entity, key) VALUES ('service_entry', NEW.entry_id);
END;
CREATE TRIGGER service_entry_gone AFTER DELETE ON service_entry BEGIN
  DELETE FROM change_log WHERE entity = 'service_entry' AND key = OLD.entry_id;
  INSERT INTO change_log (entity, key) VALUES ('service_entry', OLD.entry_id);
END;

CREATE TABLE service_plan (
  plan_id TEXT PRIMARY KEY,
  updated_at_ms INTEGER NOT NULL,
  plan TEXT NOT NULL -- JSON: the plan as the API shows it, and the meters of all carts when it was made
) STRICT;

CREATE TRIGGER service_plan_made AFTER INSERT ON service_plan BEGIN
  DELETE FROM change_log WHERE entity = 'service_plan' AND key = NEW.plan_id;
  INSERT INTO change_log (entity, key) VALUES ('service_plan', NEW.plan_id);
END;
CREATE TRIGGER service_plan_changed AFTER UPDATE ON service_plan BEGIN
  DELETE FROM change_log WHERE entity = 'service_plan' AND key = NEW.plan_id;
  INSERT INTO change_log (entity, key) VALUES ('service_plan', NEW.plan_id);
END;
CREATE TRIGGER service_plan_gone AFTER DELETE ON service_plan BEGIN
  DELETE FROM change_log WHERE entity = 'service_plan' AND key = OLD.plan_id;
  INSERT INTO change_log (entity, key) VALUES ('service_plan', OLD.plan_id);
END;

-- Use of a cart on a local day; kept when its telemetry is deleted.
CREATE TABLE cart_usage (
  cart TEXT NOT NULL,
  date TEXT NOT NULL,
  out_ms REAL NOT NULL,
  distance_m REAL NOT NULL,
  rounds INTEGER NOT NULL,
  devices TEXT NOT NULL, -- JSON: hardware ids of the cart then, so that no other cart counts them too
  PRIMARY KEY (cart, date)
) STRICT;
CREATE INDEX cart_usage_by_date ON cart_usage (date);

-- The last local days on which use was written, and services were judged.
CREATE TABLE service_days (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  metered_on TEXT,
  judged_on TEXT
) STRICT;

-- JSON: the reading that an admin set, and what was counted then; null for what was counted
ALTER TABLE cart_note ADD COLUMN meter TEXT;
-- the head office has the rows without it
UPDATE cart_note SET note = note;
