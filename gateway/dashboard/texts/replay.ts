import { defineTexts } from './texts.ts'

/** Replay of the whole course, in addition to the texts that it shares with a cart's day. */
export const replayTexts = defineTexts({
  en: {
    title: 'Replay the course',
    explained: 'Where all carts were at any minute of a day.',
    back: 'Back',
    alerts: 'Alerts of the day',
    noAlerts: 'No alerts on this day.',
    alertsFailed: 'The alerts could not be loaded.',
    alertRow: (cart: string, kind: string) => `Cart ${cart}: ${kind}`,
    notReplayed: (minutes: string) =>
      `Not replayed: locks, batteries and connections. On the course a cart counts as not heard from after ${minutes} without a position. Zones are those of now.`,
    gaps: 'Some records of this day are damaged and missing here.',
    seen: (out: number, barn: number, outside: number, silent: number) =>
      `${out} on the course, ${barn} in the barn, ${outside} outside, ${silent} not heard from`,
    nobody: 'No cart was seen by this time.',
    theDay: 'The day',
    close: 'Close',
  },
  de: {
    title: 'Platz zurückspielen',
    explained: 'Wo alle Carts zu jeder Minute eines Tages waren.',
    back: 'Zurück',
    alerts: 'Alarme des Tages',
    noAlerts: 'Keine Alarme an diesem Tag.',
    alertsFailed: 'Die Alarme konnten nicht geladen werden.',
    alertRow: (cart: string, kind: string) => `Cart ${cart}: ${kind}`,
    notReplayed: (minutes: string) =>
      `Nicht wiedergegeben: Sperren, Batterien und Verbindungen. Auf dem Platz gilt ein Cart nach ${minutes} ohne Position als nicht gehört. Die Zonen sind die von jetzt.`,
    gaps: 'Einige Aufzeichnungen dieses Tages sind beschädigt und fehlen hier.',
    seen: (out: number, barn: number, outside: number, silent: number) =>
      `${out} auf dem Platz, ${barn} in der Halle, ${outside} außerhalb, ${silent} nicht gehört`,
    nobody: 'Bis zu dieser Zeit wurde kein Cart gesehen.',
    theDay: 'Der Tag',
    close: 'Schließen',
  },
})
