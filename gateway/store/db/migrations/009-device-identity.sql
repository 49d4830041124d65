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
