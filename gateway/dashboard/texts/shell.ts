import { defineTexts } from './texts.ts'

export const shellTexts = defineTexts({
  en: {
    map: 'Map',
    fleet: 'Fleet',
    evening: 'Evening',
    alerts: 'Alerts',
    more: 'More',
    screens: 'Screens',
    live: 'live',
    connecting: 'connecting',
    noContact: (ago: string) => `No contact for ${ago}. Showing what was known then.`,
    loading: 'Loading',
    cannotLoad: 'This screen could not be loaded.',
    tryAgain: 'Try again',
  },
  de: {
    map: 'Karte',
    fleet: 'Flotte',
    evening: 'Abend',
    alerts: 'Alarme',
    more: 'Mehr',
    screens: 'Ansichten',
    live: 'live',
    connecting: 'verbindet',
    noContact: (ago: string) => `Seit ${ago} keine Verbindung. Gezeigt wird der Stand von da.`,
    loading: 'Lädt',
    cannotLoad: 'Diese Ansicht konnte nicht geladen werden.',
    tryAgain: 'Nochmal versuchen',
  },
})
