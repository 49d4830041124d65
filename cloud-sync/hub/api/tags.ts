import type { Tags } from '#shared/http/operation-names.ts'

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
      description: 'GPS and battery: the newest record, the history, and its files.',
      nouns: ['gps', 'battery'],
    },
    {
      name: 'Events',
      description: 'Lock events of devices with their users, and zones that carts entered and left.',
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
      description: 'Alerts for the staff of a site.',
      nouns: ['alerts'],
    },
    {
      name: 'Carts',
      description: 'Carts of a site: devices, position and state of each, parties that play with them, and services.',
      nouns: ['carts', 'parties', 'service-entries', 'service-plans'],
    },
    {
      name: 'Audit log',
      description: 'Changes at a site and sent commands, with their users.',
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
      description: 'Users and programs of the hub, their keys and scopes.',
      nouns: ['users'],
    },
    {
      name: 'System',
      description: 'Health and metrics of the hub, and this documentation.',
      nouns: ['health', 'metrics', 'docs', 'openapi.json'],
    },
  ],
}
