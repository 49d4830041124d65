import { defineTexts } from './texts.ts'

/** Texts of every dialog that sends something. */
export const questionTexts = defineTexts({
  en: {
    cancel: 'Cancel',
    working: 'Sending …',
    noContact: 'No contact with the gateway: nothing was sent. Try again when it is back.',
  },
  de: {
    cancel: 'Abbrechen',
    working: 'Wird gesendet …',
    noContact: 'Keine Verbindung zum Gateway: Nichts wurde gesendet. Versuche es wieder, wenn es zurück ist.',
  },
})
