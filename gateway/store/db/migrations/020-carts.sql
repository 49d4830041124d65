-- What follows from all that a device said of the cart it is in, about once a minute: what is newer is in its history.
CREATE TABLE cart_motion (
  device_id INTEGER PRIMARY KEY REFERENCES device (device_id) ON DELETE CASCADE,
  motion TEXT NOT NULL -- JSON of KeptMotion
) STRICT;

-- What people say of a cart, by the key it has. It goes with the cart.
CREATE TABLE cart_note (
  cart TEXT PRIMARY KEY,
  out_of_service TEXT, -- JSON: since_ms, why, by
  exempt TEXT, -- JSON: zone_types, until_ms, why, by
  note TEXT,
  updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER cart_note_made AFTER INSERT ON cart_note BEGIN
  DELETE FROM change_log WHERE entity = 'cart_note' AND key = NEW.cart;
  INSERT INTO change_log (entity, key) VALUES ('cart_note', NEW.cart);
END;
CREATE TRIGGER cart_note_changed AFTER UPDATE ON cart_note BEGIN
  DELETE FROM change_log WHERE entity = 'cart_note' AND key = NEW.cart;
  INSERT INTO change_log (entity, key) VALUES ('cart_note', NEW.cart);
END;
CREATE TRIGGER cart_note_gone AFTER DELETE ON cart_note BEGIN
  DELETE FROM change_log WHERE entity = 'cart_note' AND key = OLD.cart;
  INSERT INTO change_log (entity, key) VALUES ('cart_note', OLD.cart);
END;

-- Which zones the devices of a cart may be in that others may not: `[]` when that is over, for a device that was told once
-- is told for ever.
CREATE TABLE zone_exempt (
  device_id INTEGER PRIMARY KEY REFERENCES device (device_id) ON DELETE CASCADE,
  zone_types TEXT NOT NULL -- JSON array
) STRICT;
