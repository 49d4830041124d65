import type { Tags } from '#shared/http/operation-names.ts'

/** The parts of the gateway's API. */
export const TAGS: Tags = {
  order: ['Devices', 'Telemetry', 'Lock events', 'Commands', 'Trips', 'Groups', 'Configuration'],
  rules: [
    {
      name: 'Commands',
      description: 'Tell a device to do something, and learn what became of it.',
      nouns: ['commands'],
    },
    {
      name: 'Configuration',
      description: 'Defaults of a device type, settings of a group and of one device, merged in that order.',
      nouns: ['config', 'device-types'],
    },
    {
      name: 'Geofences',
      description: 'The zones of a group, and who went in and out.',
      nouns: ['geofences', 'geofence-events'],
    },
    {
      name: 'Telemetry',
      description: 'GPS and battery: the newest record, the history, files of it, and how to delete it.',
      nouns: ['gps', 'battery', 'telemetry'],
    },
    { name: 'Groups', description: 'Devices that belong together.', nouns: ['groups'] },
    {
      name: 'Devices',
      description: 'The register, and the latest state of each device.',
      nouns: ['devices'],
    },
    {
      name: 'Lock events',
      description: 'Who locked and unlocked what, when and with what.',
      nouns: ['lock-events'],
    },
    { name: 'Trips', description: 'Trips and stops, detected from GPS history.', nouns: ['trips'] },
    { name: 'Users', description: 'People and programs, their keys and scopes.', nouns: ['users'] },
    {
      name: 'MQTT',
      description: 'The broker: who is connected, and what could not be read.',
      nouns: ['mqtt'],
    },
    {
      name: 'Head office',
      description: 'The replication of this gateway, if it has a head office.',
      nouns: ['sync'],
    },
    {
      name: 'System',
      description: 'How the gateway is doing, and these documents.',
      nouns: ['health', 'stats', 'metrics', 'docs', 'openapi.json'],
    },
  ],
}
