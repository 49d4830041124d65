import type { SiteSettings } from '#shared/site/settings.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'

/** Details of an alert as text; null if the alert does not contain them. */
export interface Details {
  volts(name: string): string | null
  text(name: string): string | null
  /** Returns a time of day in the time zone of the site. */
  time(name: string): string | null
  /** Returns a number of seconds as minutes. */
  minutes(name: string): string | null
}

/** Texts of notifications in one language. */
export interface NotificationTexts {
  locale: string
  /** First line of a message that is sent long after its time. */
  late: string
  lateWhy: string
  cart: (name: string) => string
  /** Subject of alerts without a cart. */
  gateway: string
  where: string
  unknownPlace: string
  since: string
  severalAlerts: (count: number) => string
  more: (count: number) => string
  test: { title: string; text: string }
  what: Record<AlertKind, (details: Details) => string>
}

/** Puts words around a detail; returns an empty text if the detail is unknown. */
function around(before: string, detail: string | null, after = ''): string {
  return detail === null ? '' : `${before}${detail}${after}`
}

const ENGLISH: NotificationTexts = {
  locale: 'en-GB',
  late: 'Late',
  lateWhy: 'this message could not be delivered earlier.',
  cart: (name) => `Cart ${name}`,
  gateway: 'Gateway',
  where: 'Where',
  unknownPlace: 'not known',
  since: 'Since',
  severalAlerts: (count) => `${count} alerts`,
  more: (count) => `And ${count} more.`,
  test: { title: 'Test', text: 'This is a test: alerts of this course arrive here.' },
  what: {
    low_battery: (d) =>
      `battery low${around(', ', d.volts('voltage'), ' at rest')}${around(' (low below ', d.volts('threshold'), ')')}`,
    outside: () => 'outside the course',
    zone_stay: (d) => `stays in a stop zone${around(': ', d.text('name'))}${around(' (', d.minutes('seconds'), ')')}`,
    moved_while_locked: () => 'moved while locked',
    moved_after_hours: () => 'moved after hours',
    silent_on_course: (d) => `silent on the course${around(', last heard ', d.time('last_heard_at'))}`,
    open_after_closing: () => 'not locked after closing time',
    out_after_closing: () => 'still out after closing time',
    not_charging: (d) => `does not charge${around(', ', d.volts('voltage'))}${around(' since ', d.time('since'))}`,
    device_twice: (d) => `two devices use the id${around(' ', d.text('hardware_id'))} at the same time`,
    device_clock: (d) => `the clock of the device${around(' ', d.text('hardware_id'))} is wrong`,
    disk: () => 'the disk needs attention',
    clock: () => 'the clock is not confirmed',
    sync: () => 'the head office is not up to date',
    backup: () => 'there was no good backup for 36 hours',
    certificate: (d) => `the certificate is not renewed${around(', it ends ', d.time('expires_at'))}`,
    pin_locked: (d) =>
      `too many wrong PINs${around(': ', d.text('name'))}${around(', locked until ', d.time('until'))}`,
  },
}

const GERMAN: NotificationTexts = {
  locale: 'de-DE',
  late: 'Verspätet',
  lateWhy: 'diese Nachricht konnte nicht früher zugestellt werden.',
  cart: (name) => `Cart ${name}`,
  gateway: 'Gateway',
  where: 'Wo',
  unknownPlace: 'nicht bekannt',
  since: 'Seit',
  severalAlerts: (count) => `${count} Meldungen`,
  more: (count) => `Und ${count} weitere.`,
  test: { title: 'Test', text: 'Dies ist ein Test: Meldungen dieses Platzes kommen hier an.' },
  what: {
    low_battery: (d) =>
      'Batterie ' +
      `schwach${around(', ', d.volts('voltage'), ' in Ruhe')}${around(' (schwach unter ', d.volts('threshold'), ')')}`,
    outside: () => 'außerhalb des Platzes',
    zone_stay: (d) =>
      `steht in einer Sperrzone${around(': ', d.text('name'))}${around(' (', d.minutes('seconds'), ')')}`,
    moved_while_locked: () => 'bewegt, obwohl gesperrt',
    moved_after_hours: () => 'nach Betriebsschluss bewegt',
    silent_on_course: (d) => `auf dem Platz verstummt${around(', zuletzt gehört ', d.time('last_heard_at'))}`,
    open_after_closing: () => 'nach Betriebsschluss nicht gesperrt',
    out_after_closing: () => 'nach Betriebsschluss noch draußen',
    not_charging: (d) => `lädt nicht${around(', ', d.volts('voltage'))}${around(' seit ', d.time('since'))}`,
    device_twice: (d) => `zwei Geräte verwenden gleichzeitig die Geräte-ID${around(' ', d.text('hardware_id'))}`,
    device_clock: (d) => `die Uhr des Geräts${around(' ', d.text('hardware_id'))} geht falsch`,
    disk: () => 'die Festplatte braucht Aufmerksamkeit',
    clock: () => 'die Uhr ist nicht bestätigt',
    sync: () => 'die Zentrale ist nicht auf dem neuesten Stand',
    backup: () => 'seit 36 Stunden gab es keine gute Sicherung',
    certificate: (d) => `das Zertifikat wird nicht erneuert${around(', es endet ', d.time('expires_at'))}`,
    pin_locked: (d) =>
      `zu viele falsche PINs${around(': ', d.text('name'))}${around(', gesperrt bis ', d.time('until'))}`,
  },
}

export const WORDS: Record<SiteSettings['language'], NotificationTexts> = { en: ENGLISH, de: GERMAN }
