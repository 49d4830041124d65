import { defineTexts } from './texts.ts'

/** Help for the screens of the rail, in one or two sentences; pages of More have their own. */
export const helpTexts = defineTexts({
  en: {
    more: 'Read more',
    close: 'Close',
    screens: {
      map: 'Where every cart is now, and what needs attention. Tap a cart to lock, unlock or find it.',
      fleet: 'All carts, most urgent first, and which to hand out in the morning.',
      evening:
        'Which carts are in and locked, in and unlocked, still out or not charging. One button locks all in the barn.',
      alerts: 'Open alerts first. Acknowledging an alert silences it on every tablet.',
      barn: 'Where the barn is. Carts in this circle are in; only these can be locked all at once.',
    },
  },
  de: {
    more: 'Mehr (auf Englisch)',
    close: 'Schließen',
    screens: {
      map: 'Wo jedes Cart jetzt ist und was zu erledigen ist. Ein Cart antippen zum Sperren, Entsperren oder Finden.',
      fleet: 'Alle Carts, dringendste zuerst, und welche am Morgen auszugeben sind.',
      evening:
        'Welche Carts in der Halle gesperrt oder entsperrt sind, welche noch draußen sind und welche nicht laden. ' +
        'Ein Knopf sperrt alle in der Halle.',
      alerts: 'Offene Alarme zuerst. Bestätigen schaltet einen Alarm auf allen Tablets stumm.',
      barn: 'Wo die Halle ist. Carts in diesem Kreis sind in der Halle; nur diese lassen sich gemeinsam sperren.',
    },
  },
})
