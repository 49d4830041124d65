-- Programs that are told of alerts over HTTP. The secret signs what they get, so it is kept as it is.
CREATE TABLE webhook (
  webhook_id TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  kinds TEXT, -- JSON; null is every kind
  secret TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  last_success_at_ms INTEGER,
  last_error TEXT
) STRICT;

-- People who are told of alerts by e-mail, ntfy or Telegram.
CREATE TABLE notifier (
  notifier_id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  recipient TEXT NOT NULL,
  token TEXT,
  kinds TEXT, -- JSON; null is every kind
  hours TEXT, -- JSON: from and to by the clocks of the site; null is always
  after_unacknowledged_min REAL,
  created_at_ms INTEGER NOT NULL,
  last_success_at_ms INTEGER,
  last_error TEXT
) STRICT;

-- What a webhook or a notifier is still to be told. The body is fixed when it is queued: a retry is the same delivery.
CREATE TABLE delivery (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  delivery_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  alert_id TEXT, -- null for a test
  body TEXT NOT NULL, -- JSON
  queued_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_by_target ON delivery (target_id);
CREATE INDEX delivery_by_alert ON delivery (alert_id, target_id);
