import type { Tags } from '#shared/http/operation-names.ts'

/** The parts of the gateway's API. */
export const TAGS: Tags = {
  order: ['Devices', 'Telemetry', 'Carts', 'Lock events', 'Commands', 'Trips', 'Reports', 'Groups', 'Configuration'],
  rules: [
    {
      name: 'Reports',
      description: 'How carts were used, how their packs are, and where they were: by month, or on a map.',
      nouns: ['reports'],
    },
    {
      name: 'Commands',
      description: 'Send a command to a device, and follow it to its outcome.',
      nouns: ['commands'],
    },
    {
      name: 'Configuration',
      description: 'Defaults of a device type, settings of a group and of one device, merged in that order.',
      nouns: ['config', 'device-types'],
    },
    {
      name: 'Geofences',
      description: 'The zones of the site and of groups, and the devices that entered and left them.',
      nouns: ['zones', 'geofences', 'geofence-events'],
    },
    {
      name: 'Telemetry',
      description: 'GPS and battery: the newest record, the history, its export as files, and its deletion.',
      nouns: ['gps', 'battery', 'telemetry'],
    },
    { name: 'Groups', description: 'Devices that belong together.', nouns: ['groups'] },
    {
      name: 'Devices',
      description: 'The register, and the latest state of each device.',
      nouns: ['devices', 'enrolment', 'messages'],
    },
    {
      name: 'Carts',
      description: 'What people drive: the devices of a cart together, where it is and how it is.',
      nouns: ['carts', 'replay'],
    },
    {
      name: 'Lock events',
      description: 'Which device was locked or unlocked, when, and by which tag, code or command.',
      nouns: ['lock-events', 'erasures'],
    },
    {
      name: 'Rounds',
      description: 'What carts played, hole by hole, and how far behind those are that play now.',
      nouns: ['rounds'],
    },
    { name: 'Trips', description: 'Trips and stops, detected from GPS history.', nouns: ['trips'] },
    {
      name: 'Site',
      description: 'The course as people describe it: its name, its opening hours, its rules, its drawing.',
      nouns: ['site', 'course'],
    },
    {
      name: 'Alerts',
      description: 'What people are warned of: packs, carts that go astray, doors left open, the machine itself.',
      nouns: ['alerts'],
    },
    {
      name: 'Recall',
      description: 'All carts in: a message to every screen, and which of them have confirmed it.',
      nouns: ['recall'],
    },
    {
      name: 'Notifications',
      description: 'Programs and people who are told of alerts: webhooks, e-mail, ntfy, Telegram.',
      nouns: ['webhooks', 'notifiers'],
    },
    {
      name: 'Users',
      description: 'People and programs, their keys, scopes and PINs.',
      nouns: ['users', 'people', 'me'],
    },
    {
      name: 'Sessions',
      description: 'Browsers that are signed in, how they get there, and who acts on them.',
      nouns: ['sessions', 'pairing-codes', 'access-requests'],
    },
    {
      name: 'Audit log',
      description: 'Who changed what, and who sent which command.',
      nouns: ['audit-log'],
    },
    {
      name: 'MQTT',
      description: 'The broker: its clients, its figures, and the messages it could not read.',
      nouns: ['mqtt'],
    },
    {
      name: 'Head office',
      description: 'The replication of this gateway, if it has a head office.',
      nouns: ['sync'],
    },
    {
      name: 'Backups',
      description: 'The nightly backups: where they are, which there are, and one at once.',
      nouns: ['backups'],
    },
    {
      name: 'System',
      description: 'The health and the figures of the gateway, and these documents.',
      nouns: ['health', 'stats', 'metrics', 'clock', 'machine', 'tls', 'docs', 'openapi.json'],
    },
  ],
}
