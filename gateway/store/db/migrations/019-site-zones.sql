-- The zones of the site that are in force: one set for all groups.
CREATE TABLE zone_set (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  version INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  zones TEXT NOT NULL -- JSON array of GeoJSON features, as GET /zones shows them
) STRICT;

-- The sets people made, the newest of which is in force; whoever made it keeps the name of then.
CREATE TABLE zone_version (
  version INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  user_name TEXT NOT NULL,
  zone_count INTEGER NOT NULL,
  zones TEXT NOT NULL -- JSON array of GeoJSON features, as GET /zones shows them
) STRICT;

-- With which zones of the site the set was published; 0 for none.
ALTER TABLE geofence_set ADD COLUMN site_version INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER zone_set_made AFTER INSERT ON zone_set BEGIN
  DELETE FROM change_log WHERE entity = 'zone_set' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('zone_set', 'site');
END;
CREATE TRIGGER zone_set_changed AFTER UPDATE ON zone_set BEGIN
  DELETE FROM change_log WHERE entity = 'zone_set' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('zone_set', 'site');
END;
CREATE TRIGGER zone_set_gone AFTER DELETE ON zone_set BEGIN
  DELETE FROM change_log WHERE entity = 'zone_set' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('zone_set', 'site');
END;
