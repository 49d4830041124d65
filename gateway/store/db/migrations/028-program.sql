-- Which program brought the database to each schema: one that is too old for it says which to install.
CREATE TABLE migration (
  schema INTEGER PRIMARY KEY,
  program TEXT NOT NULL, -- its version
  at_ms INTEGER NOT NULL
) STRICT;

-- "CART": tells a database of this program from one of another.
PRAGMA application_id = 1128354388;
