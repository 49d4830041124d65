-- What the MQTT broker keeps between two connections of a client, and between two lives of the process.

CREATE TABLE mqtt_session (
  client_id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  idle_hours INTEGER NOT NULL DEFAULT 0 -- counted while the gateway runs: the clock may be wrong
) STRICT, WITHOUT ROWID;

CREATE TABLE mqtt_subscription (
  client_id TEXT NOT NULL,
  topic_filter TEXT NOT NULL,
  qos INTEGER NOT NULL,
  extra TEXT,
  PRIMARY KEY (client_id, topic_filter)
) STRICT, WITHOUT ROWID;

-- Messages that wait for a client; seq is given by the broker and never twice.
CREATE TABLE mqtt_queued (
  seq INTEGER PRIMARY KEY,
  client_id TEXT NOT NULL,
  packet_id INTEGER NOT NULL,
  is_released INTEGER NOT NULL DEFAULT 0,
  topic TEXT NOT NULL,
  payload ANY NOT NULL, -- BLOB, or TEXT where the publisher gave text
  qos INTEGER NOT NULL,
  is_retained INTEGER NOT NULL,
  extra TEXT
) STRICT;
CREATE INDEX mqtt_queued_by_client ON mqtt_queued (client_id);

-- Packet identifiers of QoS 2 messages that were taken and not released yet.
CREATE TABLE mqtt_received (
  client_id TEXT NOT NULL,
  packet_id INTEGER NOT NULL,
  extra TEXT,
  PRIMARY KEY (client_id, packet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mqtt_retained (
  topic TEXT PRIMARY KEY,
  payload ANY NOT NULL,
  qos INTEGER NOT NULL,
  extra TEXT
) STRICT;

CREATE TABLE mqtt_will (
  client_id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  topic TEXT NOT NULL,
  payload ANY NOT NULL,
  qos INTEGER NOT NULL,
  is_retained INTEGER NOT NULL,
  extra TEXT
) STRICT;
