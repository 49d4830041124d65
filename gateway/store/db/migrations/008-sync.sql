-- What a head office is to get, by reference: nothing is stored twice. Kept with or without a head office, so that one
-- that is configured later gets everything.

CREATE TABLE sync_identity (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  epoch TEXT NOT NULL, -- 32 hexadecimal digits; another after a restore
  site TEXT, -- as which this database is replicated
  forked_from TEXT -- JSON, or null
) STRICT;
INSERT INTO sync_identity (only, epoch) VALUES (1, lower(hex(randomblob(16))));

-- What the head office was last known to have.
CREATE TABLE sync_cursor (
  stream TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Blocks with records that were not acknowledged as samples of the log. A block that takes their place has a new entry.
CREATE TABLE block_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  block_id INTEGER NOT NULL UNIQUE
) STRICT;
INSERT INTO block_log (block_id)
  SELECT block_id FROM telemetry_block WHERE device_id IN (SELECT device_id FROM device) ORDER BY last_ms, block_id;

-- Which rows changed; a later change of the same row takes the place of its entry. The row itself is read when it is sent.
CREATE TABLE change_log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  entity TEXT NOT NULL, -- table
  key TEXT NOT NULL,
  UNIQUE (entity, key)
) STRICT;

-- What this gateway tells of itself and its data: gaps, erasures, results of intents. Times in milliseconds.
CREATE TABLE note (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  note_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  body TEXT NOT NULL -- JSON
) STRICT;

-- Positions no part of telemetry or history may reach across until the note of an erasure is acknowledged.
CREATE TABLE erase_mark (
  note_seq INTEGER PRIMARY KEY,
  telemetry_seq INTEGER NOT NULL,
  history_seq INTEGER NOT NULL
) STRICT;

-- Wishes of the head office that were received, so that each is fulfilled once.
CREATE TABLE intent_inbox (
  intent_id TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  received_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX intent_inbox_by_seq ON intent_inbox (seq);

-- What is gone has not to be sent.
CREATE TRIGGER telemetry_block_gone AFTER DELETE ON telemetry_block BEGIN
  DELETE FROM block_log WHERE block_id = OLD.block_id;
END;

-- Each change of a row that is replicated enters change_log. Deleted and inserted, not replaced: a conflict clause of the
-- statement that fires a trigger holds for the trigger's statements too.

CREATE TRIGGER device_made AFTER INSERT ON device BEGIN
  DELETE FROM change_log WHERE entity = 'device' AND key = NEW.hardware_id;
  INSERT INTO change_log (entity, key) VALUES ('device', NEW.hardware_id);
END;
CREATE TRIGGER device_changed AFTER UPDATE ON device BEGIN
  DELETE FROM change_log WHERE entity = 'device' AND key = NEW.hardware_id;
  INSERT INTO change_log (entity, key) VALUES ('device', NEW.hardware_id);
END;
CREATE TRIGGER device_gone AFTER DELETE ON device BEGIN
  DELETE FROM change_log WHERE entity = 'device' AND key = OLD.hardware_id;
  INSERT INTO change_log (entity, key) VALUES ('device', OLD.hardware_id);
END;

-- Its layer is deleted after the device, when nothing tells whose it was.
CREATE TRIGGER device_config_gone_with_device BEFORE DELETE ON device
WHEN EXISTS (SELECT 1 FROM device_config WHERE device_id = OLD.device_id) BEGIN
  DELETE FROM change_log WHERE entity = 'device_config' AND key = OLD.hardware_id;
  INSERT INTO change_log (entity, key) VALUES ('device_config', OLD.hardware_id);
END;
CREATE TRIGGER device_config_made AFTER INSERT ON device_config BEGIN
  DELETE FROM change_log
    WHERE entity = 'device_config' AND key = (SELECT hardware_id FROM device WHERE device_id = NEW.device_id);
  INSERT INTO change_log (entity, key)
    SELECT 'device_config', hardware_id FROM device WHERE device_id = NEW.device_id;
END;
CREATE TRIGGER device_config_changed AFTER UPDATE ON device_config BEGIN
  DELETE FROM change_log
    WHERE entity = 'device_config' AND key = (SELECT hardware_id FROM device WHERE device_id = NEW.device_id);
  INSERT INTO change_log (entity, key)
    SELECT 'device_config', hardware_id FROM device WHERE device_id = NEW.device_id;
END;
CREATE TRIGGER device_config_gone AFTER DELETE ON device_config BEGIN
  DELETE FROM change_log
    WHERE entity = 'device_config' AND key = (SELECT hardware_id FROM device WHERE device_id = OLD.device_id);
  INSERT INTO change_log (entity, key)
    SELECT 'device_config', hardware_id FROM device WHERE device_id = OLD.device_id;
END;

CREATE TRIGGER device_group_made AFTER INSERT ON device_group BEGIN
  DELETE FROM change_log WHERE entity = 'device_group' AND key = CAST(NEW.group_id AS TEXT);
  INSERT INTO change_log (entity, key) VALUES ('device_group', CAST(NEW.group_id AS TEXT));
END;
CREATE TRIGGER device_group_changed AFTER UPDATE ON device_group BEGIN
  DELETE FROM change_log WHERE entity = 'device_group' AND key = CAST(NEW.group_id AS TEXT);
  INSERT INTO change_log (entity, key) VALUES ('device_group', CAST(NEW.group_id AS TEXT));
END;
CREATE TRIGGER device_group_gone AFTER DELETE ON device_group BEGIN
  DELETE FROM change_log WHERE entity = 'device_group' AND key = CAST(OLD.group_id AS TEXT);
  INSERT INTO change_log (entity, key) VALUES ('device_group', CAST(OLD.group_id AS TEXT));
END;

CREATE TRIGGER device_type_made AFTER INSERT ON device_type BEGIN
  DELETE FROM change_log WHERE entity = 'device_type' AND key = NEW.name;
  INSERT INTO change_log (entity, key) VALUES ('device_type', NEW.name);
END;
CREATE TRIGGER device_type_changed AFTER UPDATE ON device_type BEGIN
  DELETE FROM change_log WHERE entity = 'device_type' AND key = NEW.name;
  INSERT INTO change_log (entity, key) VALUES ('device_type', NEW.name);
END;
CREATE TRIGGER device_type_gone AFTER DELETE ON device_type BEGIN
  DELETE FROM change_log WHERE entity = 'device_type' AND key = OLD.name;
  INSERT INTO change_log (entity, key) VALUES ('device_type', OLD.name);
END;

CREATE TRIGGER group_config_made AFTER INSERT ON group_config BEGIN
  DELETE FROM change_log WHERE entity = 'group_config' AND key = NEW.group_id || '/' || NEW.device_type;
  INSERT INTO change_log (entity, key) VALUES ('group_config', NEW.group_id || '/' || NEW.device_type);
END;
CREATE TRIGGER group_config_changed AFTER UPDATE ON group_config BEGIN
  DELETE FROM change_log WHERE entity = 'group_config' AND key = NEW.group_id || '/' || NEW.device_type;
  INSERT INTO change_log (entity, key) VALUES ('group_config', NEW.group_id || '/' || NEW.device_type);
END;
CREATE TRIGGER group_config_gone AFTER DELETE ON group_config BEGIN
  DELETE FROM change_log WHERE entity = 'group_config' AND key = OLD.group_id || '/' || OLD.device_type;
  INSERT INTO change_log (entity, key) VALUES ('group_config', OLD.group_id || '/' || OLD.device_type);
END;

CREATE TRIGGER geofence_set_made AFTER INSERT ON geofence_set BEGIN
  DELETE FROM change_log WHERE entity = 'geofence_set' AND key = CAST(NEW.group_id AS TEXT);
  INSERT INTO change_log (entity, key) VALUES ('geofence_set', CAST(NEW.group_id AS TEXT));
END;
CREATE TRIGGER geofence_set_changed AFTER UPDATE ON geofence_set BEGIN
  DELETE FROM change_log WHERE entity = 'geofence_set' AND key = CAST(NEW.group_id AS TEXT);
  INSERT INTO change_log (entity, key) VALUES ('geofence_set', CAST(NEW.group_id AS TEXT));
END;
CREATE TRIGGER geofence_set_gone AFTER DELETE ON geofence_set BEGIN
  DELETE FROM change_log WHERE entity = 'geofence_set' AND key = CAST(OLD.group_id AS TEXT);
  INSERT INTO change_log (entity, key) VALUES ('geofence_set', CAST(OLD.group_id AS TEXT));
END;

-- Neither a key that is given anew nor how much it is used.
CREATE TRIGGER user_made AFTER INSERT ON user BEGIN
  DELETE FROM change_log WHERE entity = 'user' AND key = NEW.user_id;
  INSERT INTO change_log (entity, key) VALUES ('user', NEW.user_id);
END;
CREATE TRIGGER user_changed AFTER UPDATE OF name, email, role, is_active, allowed_hardware_ids ON user
WHEN (OLD.name, OLD.email, OLD.role, OLD.is_active, OLD.allowed_hardware_ids)
  IS NOT (NEW.name, NEW.email, NEW.role, NEW.is_active, NEW.allowed_hardware_ids) BEGIN
  DELETE FROM change_log WHERE entity = 'user' AND key = NEW.user_id;
  INSERT INTO change_log (entity, key) VALUES ('user', NEW.user_id);
END;
CREATE TRIGGER user_gone AFTER DELETE ON user BEGIN
  DELETE FROM change_log WHERE entity = 'user' AND key = OLD.user_id;
  INSERT INTO change_log (entity, key) VALUES ('user', OLD.user_id);
END;

CREATE TRIGGER command_made AFTER INSERT ON command BEGIN
  DELETE FROM change_log WHERE entity = 'command' AND key = NEW.command_id;
  INSERT INTO change_log (entity, key) VALUES ('command', NEW.command_id);
END;
CREATE TRIGGER command_changed AFTER UPDATE ON command BEGIN
  DELETE FROM change_log WHERE entity = 'command' AND key = NEW.command_id;
  INSERT INTO change_log (entity, key) VALUES ('command', NEW.command_id);
END;
-- For each new one an old one goes, for years: as long as nobody was sent anything, nobody has to be told.
CREATE TRIGGER command_gone AFTER DELETE ON command BEGIN
  DELETE FROM change_log WHERE entity = 'command' AND key = OLD.command_id;
  INSERT INTO change_log (entity, key)
    SELECT 'command', OLD.command_id FROM sync_identity WHERE site IS NOT NULL;
END;

INSERT INTO change_log (entity, key) SELECT 'device_group', CAST(group_id AS TEXT) FROM device_group ORDER BY group_id;
INSERT INTO change_log (entity, key) SELECT 'device_type', name FROM device_type ORDER BY name;
INSERT INTO change_log (entity, key) SELECT 'device', hardware_id FROM device ORDER BY device_id;
INSERT INTO change_log (entity, key)
  SELECT 'group_config', group_id || '/' || device_type FROM group_config ORDER BY group_id, device_type;
INSERT INTO change_log (entity, key)
  SELECT 'device_config', hardware_id FROM device_config JOIN device USING (device_id) ORDER BY device_id;
INSERT INTO change_log (entity, key) SELECT 'geofence_set', CAST(group_id AS TEXT) FROM geofence_set ORDER BY group_id;
INSERT INTO change_log (entity, key) SELECT 'user', user_id FROM user ORDER BY created_at_ms, user_id;
INSERT INTO change_log (entity, key) SELECT 'command', command_id FROM command ORDER BY seq;
