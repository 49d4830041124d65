import { defineTexts } from './texts.ts'

/** A cart's day, and the texts that it shares with the replay of the course. */
export const dayTexts = defineTexts({
  en: {
    title: "A cart's day",
    explained: 'Where a cart was on a day, and what happened to it.',
    which: 'Which cart?',
    ofCart: (cart: string) => `Cart ${cart}`,
    day: 'Day',
    before: 'Day before',
    after: 'Day after',
    toCart: 'Show the cart',
    play: 'Play',
    pause: 'Pause',
    speed: 'Speed of the replay',
    times: (speed: number) => `${speed} ×`,
    moment: 'Time of day',
    loading: 'Loading …',
    tryAgain: 'Try again',
    now: 'At this time',
    noneYet: 'Not heard of yet',
    drives: (speed: string) => `Drives ${speed}`,
    stands: 'Stands',
    heard: (span: string) => `Last heard of ${span} before`,
    noRecords:
      'No positions on this day. Only the devices that are in the cart now are looked at, and a removed device ' +
      'took its history along.',
    future: 'This day has not come yet.',
    gaps: 'Some records of this day are damaged and missing here.',
    noTrips: 'No trips on this day.',
    trips: (count: number, distance: string) => (count === 1 ? `1 trip, ${distance}` : `${count} trips, ${distance}`),
    events: 'What happened',
    noEvents: 'Nothing else is known of this day.',
    tripRow: (distance: string, span: string) => `Drove ${distance} in ${span}`,
    stopRow: (span: string) => `Stood for ${span}`,
    locked: (by: string) => `Locked, ${by}`,
    unlocked: (by: string) => `Unlocked, ${by}`,
    sources: { rfid: 'RFID tag', keypad: 'keypad', key: 'key', remote: 'from afar' },
    entered: (zone: string) => `Came into ${zone}`,
    left: (zone: string) => `Left ${zone}`,
    speedChart: 'Speed',
    voltageChart: 'Battery',
    signs: 'Blue: driving. Low grey: standing. Amber: lock. Red: alert.',
  },
  de: {
    title: 'Tag eines Carts',
    explained: 'Wo ein Cart an einem Tag war und was mit ihm geschah.',
    which: 'Welches Cart?',
    ofCart: (cart: string) => `Cart ${cart}`,
    day: 'Tag',
    before: 'Tag davor',
    after: 'Tag danach',
    toCart: 'Cart zeigen',
    play: 'Abspielen',
    pause: 'Anhalten',
    speed: 'Tempo der Wiedergabe',
    times: (speed: number) => `${speed} ×`,
    moment: 'Uhrzeit',
    loading: 'Wird geladen …',
    tryAgain: 'Nochmal versuchen',
    now: 'Zu dieser Zeit',
    noneYet: 'Noch nichts gehört',
    drives: (speed: string) => `Fährt ${speed}`,
    stands: 'Steht',
    heard: (span: string) => `Zuletzt gehört: ${span} davor`,
    noRecords:
      'Keine Positionen an diesem Tag. Es zählen nur die Geräte, die jetzt im Cart sind, und ein entferntes ' +
      'Gerät nahm seine Geschichte mit.',
    future: 'Dieser Tag kommt erst noch.',
    gaps: 'Einige Aufzeichnungen dieses Tages sind beschädigt und fehlen hier.',
    noTrips: 'Keine Fahrten an diesem Tag.',
    trips: (count: number, distance: string) =>
      count === 1 ? `1 Fahrt, ${distance}` : `${count} Fahrten, ${distance}`,
    events: 'Was geschah',
    noEvents: 'Sonst ist von diesem Tag nichts bekannt.',
    tripRow: (distance: string, span: string) => `Fuhr ${distance} in ${span}`,
    stopRow: (span: string) => `Stand ${span}`,
    locked: (by: string) => `Gesperrt, ${by}`,
    unlocked: (by: string) => `Geöffnet, ${by}`,
    sources: { rfid: 'RFID-Chip', keypad: 'Tastenfeld', key: 'Schlüssel', remote: 'aus der Ferne' },
    entered: (zone: string) => `Kam in ${zone}`,
    left: (zone: string) => `Verließ ${zone}`,
    speedChart: 'Tempo',
    voltageChart: 'Batterie',
    signs: 'Blau: fährt. Niedrig grau: steht. Gelb: Sperre. Rot: Alarm.',
  },
})

/** "14:05:33" on the clocks of the course. */
export function formatSecond(atMs: number, timeZone: string): string {
  const format = { hour: '2-digit', minute: '2-digit', second: '2-digit', timeZone } as const
  return new Intl.DateTimeFormat('en-GB', format).format(atMs)
}
