-- Calls from carts: kept until their alert is written, then to recognise one that is sent again.
CREATE TABLE cart_call (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  hardware_id TEXT NOT NULL,
  identity TEXT NOT NULL, -- with the registration of the device, as of lock events
  call TEXT NOT NULL, -- help, ranger, breakdown, order or cancel
  call_id TEXT NOT NULL, -- as the device gave it, else made by the gateway
  text TEXT, -- null as soon as the alert has it
  at_ms INTEGER NOT NULL,
  received_at_ms INTEGER NOT NULL,
  is_new INTEGER NOT NULL DEFAULT 1, -- 0 once it has acted on its alert
  alert_id TEXT -- null for a call without effect
) STRICT;
CREATE UNIQUE INDEX cart_call_identity ON cart_call (hardware_id, identity);
CREATE INDEX cart_call_new ON cart_call (seq) WHERE is_new = 1;
CREATE INDEX cart_call_alert ON cart_call (alert_id);
CREATE INDEX cart_call_received ON cart_call (received_at_ms);
CREATE INDEX alert_of_call ON alert (opened_at_ms) WHERE kind = 'call';
