-- What time it is by its last confirmation and by what went by since; 0 while nothing is known. Of a database from
-- before no confirmation is known: it is not after the mark, nor after what at least half of the devices have reported.
ALTER TABLE clock_mark ADD COLUMN confirmed_at_ms INTEGER NOT NULL DEFAULT 0;
-- The newest time that devices sent by clocks of their own, 0 before the first, and how long a gateway ran since.
ALTER TABLE clock_mark ADD COLUMN said_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clock_mark ADD COLUMN said_ago_ms INTEGER NOT NULL DEFAULT 0;

UPDATE clock_mark SET confirmed_at_ms = min(at_ms, ifnull((
  SELECT newest_ms FROM (
    SELECT max(ifnull(gps_last_ms, 0), ifnull(battery_last_ms, 0)) AS newest_ms FROM device_state)
  WHERE newest_ms > 0 ORDER BY newest_ms
  LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM device_state
    WHERE max(ifnull(gps_last_ms, 0), ifnull(battery_last_ms, 0)) > 0)), at_ms));
