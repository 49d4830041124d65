import { defineTexts } from './texts.ts'

/** Purpose of each screen of the rail, in one sentence; screens below More have their own. */
export const helpTexts = defineTexts({
  en: {
    help: 'Help',
    more: 'Read more',
    close: 'Close',
    screens: {
      map: 'Every cart where it is now, and at the side what needs somebody: touch a cart to lock, unlock or find it.',
      fleet: 'All carts as a list, what matters first, and which ones to give out in the morning.',
      evening:
        'Who is in and locked, in and open, still out or not charging; one button locks what stands open in the barn.',
      alerts: 'What somebody is to look at, open ones first; who acknowledges one silences it on all tablets.',
      barn: 'Where the barn is: carts inside this circle are in, and only those are locked together.',
    },
  },
  de: {
    help: 'Hilfe',
    more: 'Mehr lesen (auf Englisch)',
    close: 'Schließen',
    screens: {
      map:
        'Jedes Cart, wo es jetzt ist, und an der Seite, was jemanden braucht: ein Cart antippen, um es zu sperren, ' +
        'zu öffnen oder zu finden.',
      fleet: 'Alle Carts als Liste, das Wichtige zuerst, und welche man am Morgen ausgibt.',
      evening:
        'Wer drinnen und gesperrt ist, drinnen und offen, noch draußen oder nicht am Laden; ein Knopf sperrt, ' +
        'was in der Halle offen steht.',
      alerts:
        'Was jemand ansehen soll, Offenes zuerst; wer einen Alarm bestätigt, bringt ihn auf allen Tablets zum ' +
        'Schweigen.',
      barn: 'Wo die Halle ist: Carts in diesem Kreis sind drinnen, und nur diese werden zusammen gesperrt.',
    },
  },
})
