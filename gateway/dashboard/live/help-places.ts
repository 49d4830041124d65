import type { HelpPlace } from '#shared/help-pages.ts'

/** Place in the docs for each screen; the gateway serves them, in English. */
export const HELP_PLACES = {
  all: 'dashboard',
  map: 'dashboard#the-screens',
  fleet: 'dashboard#the-screens',
  evening: 'dashboard#the-screens',
  alerts: 'alerts',
  pace: 'dashboard#pace',
  day: 'dashboard#cart-day',
  replay: 'dashboard#replay-a-day',
  barn: 'barn#2-the-barn',
  reports: 'dashboard#reports',
  course: 'course',
  zones: 'course#4-zones',
  'cart-path': 'course#5-cart-path-only',
  texts: 'dashboard#messages-to-carts',
  tablets: 'dashboard#sign-a-tablet-in',
  people: 'dashboard#sign-a-tablet-in',
  devices: 'dashboard#devices-and-groups',
  groups: 'dashboard#devices-and-groups',
  site: 'dashboard#settings-of-the-course',
  notify: 'alerts#notifiers',
  repairs: 'when-something-is-wrong',
  storage: 'operation#the-data-folder',
  backups: 'backup',
  damage: 'when-something-is-wrong#something-is-damaged',
  sync: 'head-office#status',
  mqtt: 'mqtt',
  encryption: 'security#tls',
  'audit-log': 'security#logins-and-scope',
} as const satisfies Record<string, HelpPlace>
export type HelpTopic = keyof typeof HELP_PLACES
