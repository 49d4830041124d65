-- What a person proves to a shared tablet with: scrypt of four to six digits, or null.
ALTER TABLE user ADD COLUMN pin_hash TEXT;

-- Browsers that are signed in. Who acts on one is in memory only: after a start a person gives the PIN again.
CREATE TABLE session (
  session_id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL,
  last_used_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX session_by_user ON session (user_id);
