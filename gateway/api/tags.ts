import type { Tags } from '#shared/http/operation-names.ts'

export const TAGS: Tags = {
  order: ['Devices', 'Telemetry', 'Carts', 'Lock events', 'Commands', 'Trips', 'Reports', 'Groups', 'Configuration'],
  rules: [
    {
      name: 'Reports',
      description: 'Usage, batteries and positions of carts, by month or on a map; summaries of a day or a month.',
      nouns: ['reports'],
    },
    {
      name: 'Commands',
      description: 'Commands to devices, and their results.',
      nouns: ['commands'],
    },
    {
      name: 'Configuration',
      description: 'Defaults of a device type, settings of a group and of one device, merged in that order.',
      nouns: ['config', 'device-types'],
    },
    {
      name: 'Geofences',
      description: 'Zones of the site and of groups, and the devices that entered and left them.',
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
      description: 'Registered devices, and the latest state of each.',
      nouns: ['devices', 'enrolment'],
    },
    {
      name: 'Carts',
      description: 'Carts with their devices, positions and states.',
      nouns: ['carts', 'replay'],
    },
    {
      name: 'Lock events',
      description: 'Locks and unlocks of devices, with time and the tag, code or command used.',
      nouns: ['lock-events', 'erasures'],
    },
    {
      name: 'Rounds',
      description: 'Rounds of carts, hole by hole, and the pace of those in play.',
      nouns: ['rounds', 'pace'],
    },
    { name: 'Trips', description: 'Trips and stops, detected from GPS history.', nouns: ['trips'] },
    {
      name: 'Site',
      description: 'Settings of the course: name, opening hours, rules and course map.',
      nouns: ['site', 'checklist', 'course'],
    },
    {
      name: 'Alerts',
      description: 'Alerts: batteries, carts out of bounds, unlocked carts, the gateway computer.',
      nouns: ['alerts'],
    },
    {
      name: 'Parties',
      description: 'Tee times, and the carts that are given out to them.',
      nouns: ['parties'],
    },
    {
      name: 'Service',
      description: 'Services of carts: those done, plans for them, and those that are due.',
      nouns: ['service-entries', 'service-plans', 'service-due'],
    },
    {
      name: 'Recall',
      description: 'All carts in: a message to every screen, and the screens that have confirmed it.',
      nouns: ['recall'],
    },
    {
      name: 'Messages',
      description: 'Messages to the screens of carts, and texts for them.',
      nouns: ['messages', 'texts'],
    },
    {
      name: 'Notifications',
      description: 'Programs and people that receive alerts: webhooks, e-mail, ntfy, Telegram.',
      nouns: ['webhooks', 'notifiers', 'mail-reports'],
    },
    {
      name: 'Users',
      description: 'People and programs, their keys, scopes and PINs.',
      nouns: ['users', 'people', 'me'],
    },
    {
      name: 'Sessions',
      description: 'Signed-in browsers, ways to sign in, and PIN users.',
      nouns: ['sessions', 'pairing-codes', 'access-requests'],
    },
    {
      name: 'Audit log',
      description: 'Changes and commands, with the users who made them.',
      nouns: ['audit-log'],
    },
    {
      name: 'MQTT',
      description: 'Clients and figures of the broker, and the messages that it could not parse.',
      nouns: ['mqtt'],
    },
    {
      name: 'Head office',
      description: 'Replication of this gateway to a hub, if it has one.',
      nouns: ['sync'],
    },
    {
      name: 'Backups',
      description: 'Nightly backups, a backup on request, and the backups that a new gateway finds and restores.',
      nouns: ['backups', 'setup'],
    },
    {
      name: 'System',
      description: 'Health and figures of the gateway, and these documents.',
      nouns: ['health', 'repairs', 'stats', 'metrics', 'clock', 'machine', 'tls', 'docs', 'openapi.json'],
    },
  ],
}
