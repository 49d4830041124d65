import { defineTexts } from './texts.ts'

/** Recall of all carts. */
export const recallTexts = defineTexts({
  en: {
    allIn: 'All carts in',
    ask: 'Call all carts in?',
    goesTo: 'Shown on every screen until the recall ends.',
    text: 'Text',
    send: 'Send',
    askOver: (carts: number) => `End the recall and notify ${carts === 1 ? 'the cart' : `${carts} carts`}?`,
    again: 'Recall again',
    bar: (out: number) => `${out} still out`,
    barDone: 'All carts are in',
    barConfirmed: (confirmed: number, screens: number) => `${confirmed} of ${screens} confirmed`,
    startedBy: (who: string, time: string) => `${who}, ${time}`,
    over: 'End recall',
    isOver: 'No recall in progress.',
    stillOut: 'Still out',
    inBarn: 'In',
    screens: {
      confirmed: 'has confirmed',
      sent: 'sent, not confirmed',
      offline: 'screen not connected',
      none: 'no screen: fetch the driver',
    },
  },
  de: {
    allIn: 'Alle Carts zurück',
    ask: 'Alle Carts zurückrufen?',
    goesTo: 'Erscheint bis zum Ende des Rückrufs auf jedem Bildschirm.',
    text: 'Text',
    send: 'Senden',
    askOver: (carts: number) => `Rückruf beenden und ${carts === 1 ? 'das Cart' : `${carts} Carts`} benachrichtigen?`,
    again: 'Erneut zurückrufen',
    bar: (out: number) => `${out} noch draußen`,
    barDone: 'Alle Carts sind zurück',
    barConfirmed: (confirmed: number, screens: number) => `${confirmed} von ${screens} bestätigt`,
    startedBy: (who: string, time: string) => `${who}, ${time}`,
    over: 'Rückruf beenden',
    isOver: 'Kein laufender Rückruf.',
    stillOut: 'Noch draußen',
    inBarn: 'Zurück',
    screens: {
      confirmed: 'hat bestätigt',
      sent: 'gesendet, nicht bestätigt',
      offline: 'Bildschirm nicht verbunden',
      none: 'kein Bildschirm: Fahrer holen',
    },
  },
})

/** Default texts on the screens of carts, in the language of the course, not of the tablet. */
export const RECALL_TEXTS = {
  en: 'All carts in: please return to the clubhouse now.',
  de: 'Alle Carts zurück: Bitte jetzt zum Clubhaus kommen.',
} as const
