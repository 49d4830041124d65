-- What of the zones in force is for a while, by zone: JSON of {was_enabled, since_ms, until_ms, by}.
ALTER TABLE zone_set ADD COLUMN switches TEXT NOT NULL DEFAULT '{}';
-- the head office has the row without it
UPDATE zone_set SET switches = '{}';

-- The version of the group under which the zones of the site that it has were published first: a teebox that acknowledged
-- it, or a later one, has them. Null is the version of the row.
ALTER TABLE geofence_set ADD COLUMN site_since INTEGER;

-- The acknowledgement of zones that a device had sent when it came into its group, which is of the zones of another.
ALTER TABLE device ADD COLUMN other_group_ack_ms INTEGER;
