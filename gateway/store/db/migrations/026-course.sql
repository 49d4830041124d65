-- The course as it is drawn. Its version grows with its photo, too.
CREATE TABLE course (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  version INTEGER NOT NULL,
  attribution TEXT,
  -- a JSON array of GeoJSON features, as GET /course shows them: gzip, then base64
  features TEXT NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  -- what the head office gets of them: a part of the replication is no larger
  sent TEXT GENERATED ALWAYS AS (iif(length(features) <= 900000, features, NULL)) VIRTUAL
) STRICT;

-- The photo below it. It is not replicated.
CREATE TABLE course_photo (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  content_type TEXT NOT NULL,
  -- JSON array of four places in degrees, from the top left clockwise
  corners TEXT NOT NULL,
  -- names the image among all there were
  hash TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  image BLOB NOT NULL
) STRICT;

CREATE TRIGGER course_made AFTER INSERT ON course BEGIN
  DELETE FROM change_log WHERE entity = 'course' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('course', 'site');
END;
CREATE TRIGGER course_changed AFTER UPDATE ON course BEGIN
  DELETE FROM change_log WHERE entity = 'course' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('course', 'site');
END;
CREATE TRIGGER course_gone AFTER DELETE ON course BEGIN
  DELETE FROM change_log WHERE entity = 'course' AND key = 'site';
  INSERT INTO change_log (entity, key) VALUES ('course', 'site');
END;
