-- All carts were called in: the newest call only, and which commands told screens of it. A row without an end is in force.
CREATE TABLE recall (
  recall_id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  by_user_id TEXT NOT NULL,
  by_name TEXT NOT NULL,
  -- hardware ids of the devices it is for, as JSON; null for all, now and later
  scope TEXT,
  ended_at_ms INTEGER,
  end_text TEXT
) STRICT;

CREATE TABLE recall_message (
  command_id TEXT PRIMARY KEY,
  recall_id TEXT NOT NULL,
  hardware_id TEXT NOT NULL,
  -- it says that the call is over
  is_end INTEGER NOT NULL
) STRICT;

-- Wrong PINs of persons, which a restart does not forgive.
CREATE TABLE pin_tries (
  user_id TEXT PRIMARY KEY,
  -- how long before the last of them each of the wrong ones was that still counts, in milliseconds, as JSON
  wrong TEXT NOT NULL,
  -- how much of the lock on all tablets was left then
  locked_ms INTEGER NOT NULL
) STRICT;
