-- Messages to the screens of carts. The commands that show them have their states.
CREATE TABLE message (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL UNIQUE,
  sent_at_ms INTEGER NOT NULL,
  message TEXT NOT NULL, -- JSON: the message as the API shows it, without its carts
  carts TEXT NOT NULL -- JSON: each cart with its devices and the commands to its screens
) STRICT;
CREATE INDEX message_by_time ON message (sent_at_ms, seq);
