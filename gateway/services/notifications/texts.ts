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

type CallTexts = Partial<Record<string, string>>

const EN_CALLS: CallTexts = {
  help: 'calls for help',
  ranger: 'calls a marshal',
  breakdown: 'reports a breakdown',
  order: 'wants to order',
}

const DE_CALLS: CallTexts = {
  help: 'ruft um Hilfe',
  ranger: 'ruft den Marshal',
  breakdown: 'meldet eine Panne',
  order: 'möchte bestellen',
}

const ENGLISH: NotificationTexts = {
  locale: 'en-GB',
  late: 'Late',
  lateWhy: 'this message could not be delivered earlier.',
  cart: (name) => `Cart ${name}`,
  gateway: 'Gateway',
  where: 'Where',
  unknownPlace: 'unknown',
  since: 'Since',
  severalAlerts: (count) => `${count} alerts`,
  more: (count) => `And ${count} more.`,
  test: { title: 'Test', text: 'This is a test: alerts of this course arrive here.' },
  what: {
    low_battery: (d) =>
      'low ' +
      `battery${around(', ', d.volts('voltage'), ' resting')}${around(' (low is under ', d.volts('threshold'), ')')}`,
    outside: () => 'off course',
    zone_stay: (d) =>
      `stopped in a no-go zone${around(': ', d.text('name'))}${around(' (', d.minutes('seconds'), ')')}`,
    moved_while_locked: () => 'moved while locked',
    moved_after_hours: () => 'moved after closing',
    silent_on_course: (d) => `no signal on the course${around(', last seen ', d.time('last_heard_at'))}`,
    open_after_closing: () => 'unlocked after closing',
    out_after_closing: () => 'still out after closing',
    not_charging: (d) => `not charging${around(', ', d.volts('voltage'))}${around(' since ', d.time('since'))}`,
    standing: (d) => `standing${around(' since ', d.time('since'))}${around(', hole ', d.text('hole'))}`,
    service_due: (d) => `service due${around(': ', d.text('name'))}`,
    device_twice: (d) => `device ID used twice${around(': ', d.text('hardware_id'))}`,
    call: (d) =>
      `${EN_CALLS[d.text('call') ?? ''] ?? 'calls'}${around(': ', d.text('text'))}` +
      around(' (not answered by ', d.time('escalated_at'), ')'),
    device_clock: (d) => `device clock wrong${around(': ', d.text('hardware_id'))}`,
    disk: () => 'disk almost full',
    clock: () => 'clock not confirmed',
    sync: () => 'head office sync is behind',
    backup: () => 'no backup for 36 hours',
    certificate: (d) => `certificate not renewed${around(', ends ', d.time('expires_at'))}`,
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
  unknownPlace: 'unbekannt',
  since: 'Seit',
  severalAlerts: (count) => `${count} Alarme`,
  more: (count) => `Und ${count} weitere.`,
  test: { title: 'Test', text: 'Dies ist ein Test: Alarme dieses Platzes kommen hier an.' },
  what: {
    low_battery: (d) =>
      'Batterie ' +
      `schwach${around(', ', d.volts('voltage'), ' in Ruhe')}${around(' (schwach unter ', d.volts('threshold'), ')')}`,
    outside: () => 'abseits des Platzes',
    zone_stay: (d) =>
      `steht in einer Verbotszone${around(': ', d.text('name'))}${around(' (', d.minutes('seconds'), ')')}`,
    moved_while_locked: () => 'gesperrt und bewegt',
    moved_after_hours: () => 'nach Betriebsschluss bewegt',
    silent_on_course: (d) => `kein Signal auf dem Platz${around(', zuletzt gesehen ', d.time('last_heard_at'))}`,
    open_after_closing: () => 'entsperrt nach Betriebsschluss',
    out_after_closing: () => 'nach Betriebsschluss noch draußen',
    not_charging: (d) => `lädt nicht${around(', ', d.volts('voltage'))}${around(' seit ', d.time('since'))}`,
    standing: (d) => `steht${around(' seit ', d.time('since'))}${around(', Bahn ', d.text('hole'))}`,
    service_due: (d) => `Wartung fällig${around(': ', d.text('name'))}`,
    device_twice: (d) => `Geräte-ID doppelt verwendet${around(': ', d.text('hardware_id'))}`,
    call: (d) =>
      `${DE_CALLS[d.text('call') ?? ''] ?? 'ruft'}${around(': ', d.text('text'))}` +
      around(' (unbeantwortet bis ', d.time('escalated_at'), ')'),
    device_clock: (d) => `Geräteuhr geht falsch${around(': ', d.text('hardware_id'))}`,
    disk: () => 'Speicher fast voll',
    clock: () => 'Uhr nicht bestätigt',
    sync: () => 'Abgleich mit der Zentrale im Rückstand',
    backup: () => 'seit 36 Stunden keine Sicherung',
    certificate: (d) => `Zertifikat nicht erneuert${around(', endet ', d.time('expires_at'))}`,
    pin_locked: (d) =>
      `zu viele falsche PINs${around(': ', d.text('name'))}${around(', gesperrt bis ', d.time('until'))}`,
  },
}

export const WORDS: Record<SiteSettings['language'], NotificationTexts> = { en: ENGLISH, de: GERMAN }

/** Names the kind of an alert, without its details. */
export function kindText(kind: AlertKind, language: SiteSettings['language']): string {
  const unknown = () => null
  return WORDS[language].what[kind]({ volts: unknown, text: unknown, time: unknown, minutes: unknown })
}
