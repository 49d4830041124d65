import { defineTexts } from './texts.ts'

/** Carts keep to the path, by hole. */
export const cartPathTexts = defineTexts({
  en: {
    title: 'Cart path only',
    what: 'One tap on a hole: carts keep to the path there until closing. Another tap ends it.',
    all: 'All holes',
    allOff: 'End it on all holes',
    holes: 'Holes',
    hole: 'Hole',
    on: 'Path only',
    off: 'Free',
    until: (time: string) => `until ${time}`,
    noEnd: 'until ended',
    by: (name: string) => `by ${name}`,
    none:
      'No hole has a zone for this yet. Draw a zone on the fairway, give it the number of its hole and switch it ' +
      'off; here it is switched on.',
    toZones: 'To the zones',
    working: 'Sending …',
    haveIt: (applied: number, total: number) => `${applied} of ${total} carts have it`,
    allHaveIt: (total: number) => (total === 1 ? 'The cart has it' : `All ${total} carts have it`),
    waiting: 'Not yet:',
    cannot: 'Cannot (no lock box takes zones), tell their drivers:',
    noCarts: 'No cart has a device that takes zones.',
    breaches: 'On the grass since',
    noBreaches: 'Nobody so far.',
    stillThere: 'still there',
    forSpan: (span: string) => `for ${span}`,
    track: (cart: string) => `Track of cart ${cart}`,
    someBreaches: 'Older ones are not shown.',
  },
  de: {
    title: 'Nur auf dem Weg',
    what:
      'Einmal auf eine Bahn tippen: Dort bleiben Carts bis zur Schließung auf dem Weg. Noch einmal tippen beendet ' +
      'es.',
    all: 'Alle Bahnen',
    allOff: 'Auf allen Bahnen beenden',
    holes: 'Bahnen',
    hole: 'Bahn',
    on: 'Nur Weg',
    off: 'Frei',
    until: (time: string) => `bis ${time}`,
    noEnd: 'bis es beendet wird',
    by: (name: string) => `von ${name}`,
    none:
      'Noch hat keine Bahn eine Zone dafür. Eine Zone auf das Fairway zeichnen, ihr die Nummer der Bahn geben und ' +
      'sie ausschalten; hier wird sie eingeschaltet.',
    toZones: 'Zu den Zonen',
    working: 'Sendet …',
    haveIt: (applied: number, total: number) => `${applied} von ${total} Carts haben es`,
    allHaveIt: (total: number) => (total === 1 ? 'Das Cart hat es' : `Alle ${total} Carts haben es`),
    waiting: 'Noch nicht:',
    cannot: 'Können es nicht (kein Schloss, das Zonen nimmt), den Fahrern Bescheid geben:',
    noCarts: 'Kein Cart hat ein Gerät, das Zonen nimmt.',
    breaches: 'Seitdem auf dem Gras',
    noBreaches: 'Bisher niemand.',
    stillThere: 'noch dort',
    forSpan: (span: string) => `${span} lang`,
    track: (cart: string) => `Weg von Cart ${cart}`,
    someBreaches: 'Ältere sind nicht gezeigt.',
  },
})
