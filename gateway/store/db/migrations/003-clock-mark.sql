-- The one row of what time the gateway knew it to be last; a database from before knows it by what it received.
CREATE TABLE clock_mark (
  clock_mark_id INTEGER PRIMARY KEY CHECK (clock_mark_id = 1),
  at_ms INTEGER NOT NULL
) STRICT;
INSERT INTO clock_mark (clock_mark_id, at_ms) SELECT 1, ifnull(max(updated_at_ms), 0) FROM device_state;
