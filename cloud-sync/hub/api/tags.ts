import type { Tags } from '#shared/http/operation-names.ts'

/** The chapters of the API of the head office. */
export const TAGS: Tags = {
  order: ['Sites', 'Devices', 'Carts', 'Telemetry', 'Trips', 'Events', 'Intents'],
  rules: [
    {
      name: 'Intents',
      description: 'Ask the gateway of a site for a change, and read the result.',
      nouns: ['intents', 'revisions'],
    },
    {
      name: 'Telemetry',
      description: 'GPS and battery: the newest record, the history, and files of it.',
      nouns: ['gps', 'battery'],
    },
    {
      name: 'Events',
      description: 'Which devices were locked and unlocked by whom, and which carts entered and left zones.',
      nouns: ['lock-events', 'geofence-events'],
    },
    {
      name: 'Trips',
      description: 'Trips and stops, detected from GPS history as at the gateway.',
      nouns: ['trips'],
    },
    {
      name: 'Devices',
      description: 'The latest state of each device, of one site or of all sites, and the groups of devices.',
      nouns: ['devices', 'groups'],
    },
    {
      name: 'Alerts',
      description: 'What the people of a site are warned of.',
      nouns: ['alerts'],
    },
    {
      name: 'Carts',
      description: 'The carts of a site: the devices of each together, where it is and how it is.',
      nouns: ['carts'],
    },
    {
      name: 'Audit log',
      description: 'Who changed what at a site, and who sent which command.',
      nouns: ['audit-log'],
    },
    {
      name: 'Sites',
      description: 'The sites, the state of each, and the keys of their gateways.',
      nouns: ['sites'],
    },
    {
      name: 'Replication',
      description: 'The sync protocol of gateways.',
      nouns: ['sync'],
    },
    {
      name: 'Users',
      description: 'People and programs of the head office, their keys and scopes.',
      nouns: ['users'],
    },
    {
      name: 'System',
      description: 'The health and the figures of the head office, and this documentation.',
      nouns: ['health', 'metrics', 'docs', 'openapi.json'],
    },
  ],
}
