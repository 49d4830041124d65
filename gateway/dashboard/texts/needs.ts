import { defineTexts } from './texts.ts'

/** What needs somebody. */
export const needsTexts = defineTexts({
  en: {
    title: 'Needs you',
    nothing: 'Nothing. All carts are well.',
    noCarts:
      'There are no carts yet. A cart appears when a device with its number is registered: More, Devices.',
    cart: (name: string) => `Cart ${name}:`,
    open: (cart: string, reason: string) => `Cart ${cart}: ${reason}`,
    heardAt: (ago: string, place: string) => `Heard ${ago} · ${place}`,
    never: 'Never heard from',
    more: (count: number) => `and ${count} others`,
    reasons: {
      ...{ moved_while_locked: 'Moved while locked', moved_after_hours: 'Moved after hours' },
      ...{ outside: 'Outside the course', zone_stay: 'Stays in a stop zone', silent: 'Not heard from' },
      locked_out: 'Locked on the course',
      ...{
        out_after_closing: 'Still out after closing',
        low: 'Low battery',
        unlocked: 'Unlocked in the barn',
      },
      ...{ not_charging: 'Does not charge', no_position: 'No position yet' },
      device_twice: 'Two devices use the same ID',
      device_clock: 'Clock of a device is wrong',
      ...{ disk: 'The disk needs attention', clock: 'The clock is not confirmed' },
      backup: 'No backup for 36 hours',
      certificate: 'The certificate is not renewed',
      ...{ sync: 'The head office is not up to date', pin_locked: 'Too many wrong PINs' },
    },
  },
  de: {
    title: 'Braucht dich',
    nothing: 'Nichts. Allen Carts geht es gut.',
    noCarts:
      'Noch gibt es keine Carts. Ein Cart erscheint, sobald ein Gerät mit seiner Nummer angemeldet ist: Mehr, Geräte.',
    cart: (name: string) => `Cart ${name}:`,
    open: (cart: string, reason: string) => `Cart ${cart}: ${reason}`,
    heardAt: (ago: string, place: string) => `Gehört ${ago} · ${place}`,
    never: 'Nie gehört',
    more: (count: number) => `und ${count} weitere`,
    reasons: {
      ...{ moved_while_locked: 'Bewegt, obwohl gesperrt', moved_after_hours: 'Nach Betriebsschluss bewegt' },
      ...{
        outside: 'Außerhalb des Platzes',
        zone_stay: 'Steht in einer Sperrzone',
        silent: 'Nicht zu hören',
      },
      locked_out: 'Auf dem Platz gesperrt',
      ...{ out_after_closing: 'Nach Betriebsschluss draußen', low: 'Batterie schwach' },
      ...{ unlocked: 'Offen in der Halle', not_charging: 'Lädt nicht', no_position: 'Noch keine Position' },
      device_twice: 'Zwei Geräte mit derselben ID',
      device_clock: 'Uhr eines Geräts geht falsch',
      ...{ disk: 'Die Festplatte braucht Aufmerksamkeit', clock: 'Die Uhr ist nicht bestätigt' },
      backup: 'Seit 36 Stunden keine Sicherung',
      certificate: 'Das Zertifikat wird nicht erneuert',
      ...{ sync: 'Die Zentrale ist nicht auf dem neuesten Stand', pin_locked: 'Zu viele falsche PINs' },
    },
  },
})
