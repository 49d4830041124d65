-- What of the course is too large for one row of the replication, in pieces that are replicated as rows: the image of the
-- photo, and a drawing of more than 900 KB packed. They enter change_log one after the other (store/course-pieces.ts).
CREATE TABLE course_piece (
  hash TEXT NOT NULL, -- names the whole
  number INTEGER NOT NULL, -- from 0
  bytes BLOB NOT NULL,
  PRIMARY KEY (hash, number)
) STRICT;

INSERT INTO course_piece (hash, number, bytes)
  WITH RECURSIVE place (number) AS (
    SELECT 0 UNION ALL
    SELECT number + 1 FROM place, course_photo WHERE (number + 1) * 49152 < length(image)
  )
  SELECT hash, number, substr(image, number * 49152 + 1, 49152) FROM course_photo, place;
ALTER TABLE course_photo DROP COLUMN image;

CREATE TABLE drawn_course (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  version INTEGER NOT NULL,
  attribution TEXT,
  -- a JSON array of GeoJSON features, as GET /course shows them: gzip, then base64; null where it is in pieces
  features TEXT,
  -- JSON of the name of the pieces, how many they are, and how long the text is; null where there are none
  drawing TEXT,
  updated_at_ms INTEGER NOT NULL
) STRICT;
INSERT INTO drawn_course (only, version, attribution, features, drawing, updated_at_ms)
  SELECT only, version, attribution, sent,
    iif(sent IS NULL, json_object('hash', lower(hex(randomblob(16))), 'bytes', length(features),
      'pieces', (length(features) + 49151) / 49152), NULL),
    updated_at_ms FROM course;
INSERT INTO course_piece (hash, number, bytes)
  WITH RECURSIVE place (number) AS (
    SELECT 0 UNION ALL SELECT number + 1 FROM place, course WHERE (number + 1) * 49152 < length(features)
  )
  SELECT drawn.drawing ->> 'hash', number, CAST(substr(course.features, number * 49152 + 1, 49152) AS BLOB)
    FROM course, drawn_course drawn, place WHERE drawn.drawing IS NOT NULL;
DROP TABLE course;
ALTER TABLE drawn_course RENAME TO course;

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
-- the head office has the row without photo and pieces
UPDATE course SET version = version;

-- What comes again is to be told again.
CREATE TRIGGER course_piece_made AFTER INSERT ON course_piece BEGIN
  DELETE FROM change_log WHERE entity = 'course_piece' AND key = printf('%s/%04d', new.hash, new.number);
END;
-- Only of those that it was told of the head office hears that they are gone.
CREATE TRIGGER course_piece_gone AFTER DELETE ON course_piece
WHEN EXISTS (SELECT 1 FROM change_log
  WHERE entity = 'course_piece' AND key = printf('%s/%04d', old.hash, old.number)) BEGIN
  DELETE FROM change_log WHERE entity = 'course_piece' AND key = printf('%s/%04d', old.hash, old.number);
  INSERT INTO change_log (entity, key) VALUES ('course_piece', printf('%s/%04d', old.hash, old.number));
END;
