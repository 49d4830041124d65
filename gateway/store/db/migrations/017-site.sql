-- What people say of their course: names are those of PATCH /site, and what is left out is the default.
CREATE TABLE site (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  settings TEXT NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER site_made AFTER INSERT ON site BEGIN
  DELETE FROM change_log WHERE entity = 'site' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('site', 'site');
END;
CREATE TRIGGER site_changed AFTER UPDATE ON site BEGIN
  DELETE FROM change_log WHERE entity = 'site' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('site', 'site');
END;
CREATE TRIGGER site_gone AFTER DELETE ON site BEGIN
  DELETE FROM change_log WHERE entity = 'site' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('site', 'site');
END;
