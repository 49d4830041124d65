import type { Tags } from '#shared/http/operation-names.ts'

/** The parts of the API of the head office. */
export const TAGS: Tags = {
  order: ['Sites', 'Devices', 'Telemetry', 'Trips', 'Events', 'Intents'],
  rules: [
    {
      name: 'Intents',
      description: 'Wish for something at a site, and learn what became of it.',
      nouns: ['intents', 'revisions'],
    },
    {
      name: 'Telemetry',
      description: 'GPS and battery: the newest record, the history, and files of it.',
      nouns: ['gps', 'battery'],
    },
    {
      name: 'Events',
      description: 'Who locked and unlocked what, and which carts went in and out of zones.',
      nouns: ['lock-events', 'geofence-events'],
    },
    {
      name: 'Trips',
      description: 'Trips and stops, detected from GPS history as at the gateway.',
      nouns: ['trips'],
    },
    {
      name: 'Devices',
      description: 'The latest state of each device, of a site or of all, and their groups.',
      nouns: ['devices', 'groups'],
    },
    {
      name: 'Sites',
      description: 'The sites there are, how each is doing, and the keys of their gateways.',
      nouns: ['sites'],
    },
    {
      name: 'Replication',
      description: 'What gateways say: for programs that are one.',
      nouns: ['sync'],
    },
    {
      name: 'Users',
      description: 'People and programs of the head office, their keys and scopes.',
      nouns: ['users'],
    },
    {
      name: 'System',
      description: 'How the head office is doing, and these documents.',
      nouns: ['health', 'docs', 'openapi.json'],
    },
  ],
}
