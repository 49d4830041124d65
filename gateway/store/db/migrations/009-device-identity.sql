-- Client ids of programs are their user's own: no two users share one, and none is a device's, whose id has no slash.
UPDATE mqtt_subscription
  SET client_id = (SELECT s.owner || '/' || s.client_id FROM mqtt_session s WHERE s.client_id = mqtt_subscription.client_id)
  WHERE client_id IN (SELECT client_id FROM mqtt_session WHERE owner LIKE 'user:%');
UPDATE mqtt_queued
  SET client_id = (SELECT s.owner || '/' || s.client_id FROM mqtt_session s WHERE s.client_id = mqtt_queued.client_id)
  WHERE client_id IN (SELECT client_id FROM mqtt_session WHERE owner LIKE 'user:%');
UPDATE mqtt_received
  SET client_id = (SELECT s.owner || '/' || s.client_id FROM mqtt_session s WHERE s.client_id = mqtt_received.client_id)
  WHERE client_id IN (SELECT client_id FROM mqtt_session WHERE owner LIKE 'user:%');
UPDATE mqtt_will SET client_id = owner || '/' || client_id WHERE owner LIKE 'user:%';
UPDATE mqtt_session SET client_id = owner || '/' || client_id WHERE owner LIKE 'user:%';

-- 1: it came with the shared enrolment key and has not shown a password of its own yet. Until now the shared key was the
-- password of each device that had enrolled: a hash that two devices have is that. Nothing has the empty hash.
ALTER TABLE device ADD COLUMN is_on_shared_key INTEGER NOT NULL DEFAULT 0;
UPDATE device SET is_on_shared_key = 1, mqtt_password_hash = ''
  WHERE mqtt_password_hash IN (SELECT mqtt_password_hash FROM device GROUP BY mqtt_password_hash HAVING count(*) > 1);

-- Hardware ids that an admin took off the register: the shared key does not bring them back.
CREATE TABLE removed_device (
  hardware_id TEXT PRIMARY KEY,
  removed_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
