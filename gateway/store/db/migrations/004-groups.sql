-- Groups of devices; device.group_id names the one a device is in.

CREATE TABLE device_group (
  group_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;

-- Types that were put here by the API; the program brings others, which these replace.
CREATE TABLE device_type (
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL,
  defaults TEXT NOT NULL, -- JSON object
  config_schema TEXT NOT NULL, -- JSON of ObjectSchema
  commands TEXT NOT NULL -- JSON object of CommandDefinition by name
) STRICT;

-- Layers of configuration between the defaults of the type and what the device is told, JSON objects; none is empty.
CREATE TABLE group_config (
  group_id INTEGER NOT NULL REFERENCES device_group (group_id) ON DELETE CASCADE,
  device_type TEXT NOT NULL,
  config TEXT NOT NULL,
  PRIMARY KEY (group_id, device_type)
) STRICT;

CREATE TABLE device_config (
  device_id INTEGER PRIMARY KEY REFERENCES device (device_id) ON DELETE CASCADE,
  config TEXT NOT NULL
) STRICT;

-- The one row of the highest version any device was told: a hardware id that is registered again goes on above it.
CREATE TABLE config_version (
  config_version_id INTEGER PRIMARY KEY CHECK (config_version_id = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO config_version (config_version_id, version) VALUES (1, 0);
