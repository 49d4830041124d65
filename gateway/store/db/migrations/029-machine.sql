-- The machine that the gateway runs on: hashes of what tells it from others, as JSON by sign. No row: the next start takes
-- the machine that it finds.
CREATE TABLE machine (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  signs TEXT NOT NULL
) STRICT;
