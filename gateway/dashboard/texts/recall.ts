import { defineTexts } from './texts.ts'

/** All carts in. */
export const recallTexts = defineTexts({
  en: {
    allIn: 'All carts in',
    ask: 'Call all carts in?',
    goesTo: 'Every screen shows this until it is over.',
    text: 'Text',
    send: 'Send',
    askOver: (carts: number) => `Tell ${carts === 1 ? 'the cart' : `${carts} carts`} that they may play on?`,
    again: 'Call them in again',
    bar: (out: number) => `${out} still out`,
    barDone: 'All carts are in',
    barConfirmed: (confirmed: number, screens: number) => `${confirmed} of ${screens} confirmed`,
    startedBy: (who: string, time: string) => `${who}, ${time}`,
    over: 'It is over',
    isOver: 'The carts are not called in.',
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
    goesTo: 'Jeder Bildschirm zeigt das, bis es vorbei ist.',
    text: 'Text',
    send: 'Senden',
    askOver: (carts: number) =>
      carts === 1
        ? 'Dem Cart mitteilen, dass weitergespielt werden darf?'
        : `${carts} Carts mitteilen, dass weitergespielt werden darf?`,
    again: 'Noch einmal zurückrufen',
    bar: (out: number) => `${out} noch draußen`,
    barDone: 'Alle Carts sind zurück',
    barConfirmed: (confirmed: number, screens: number) => `${confirmed} von ${screens} bestätigt`,
    startedBy: (who: string, time: string) => `${who}, ${time}`,
    over: 'Es ist vorbei',
    isOver: 'Die Carts sind nicht zurückgerufen.',
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
