import { defineTexts } from './texts.ts'

export const barnTexts = defineTexts({
  en: {
    title: 'Set up the barn',
    how: 'Put the cross on the barn, or tap the barn.',
    here: 'Place barn here',
    cart: "Or use a cart's position",
    noCart: 'Choose a cart',
    coordinates: 'Or enter coordinates',
    coordinatesHint: 'As copied from a phone map: 52.5007, 13.1246',
    noCoordinates: 'Not valid coordinates. Latitude first: 52.5007, 13.1246',
    show: 'Show on map',
    nothingKnown:
      'The position of the course is unknown. Switch on a cart with a tracker outdoors, add the course map or enter ' +
      'coordinates.',
    askFar: (distance: string, cart: string) => `The barn is ${distance} from cart ${cart}. Really?`,
    farWhy: 'No other cart is nearer. Only carts inside the circle count as in the barn.',
    drag: (margin: string) =>
      'Drag the circle to move it, its edge to resize it. ' +
      `Make it about ${margin} larger than the building: GPS drifts under a roof.`,
    radius: 'Radius',
    smaller: 'Smaller',
    larger: 'Larger',
    save: 'Save',
    saving: 'Saving',
    saved: 'Saved. Carts inside show as in the barn within a minute.',
    back: 'Back to map',
    outline: 'The barn has a drawn outline. Saving replaces it with this circle.',
    adminOnly: 'Admins only.',
    changed: 'Someone else is editing the zones. Try again shortly.',
    noAnswer: 'No reply from the gateway. Your changes are kept: save again.',
    refused: (detail: string) => `Not saved: ${detail}`,
    name: 'Barn',
  },
  de: {
    title: 'Halle einrichten',
    how: 'Das Kreuz auf die Halle schieben oder die Halle antippen.',
    here: 'Halle hier setzen',
    cart: 'Oder Position eines Carts nehmen',
    noCart: 'Cart wählen',
    coordinates: 'Oder Koordinaten eingeben',
    coordinatesHint: 'Wie aus der Karte eines Telefons kopiert: 52.5007, 13.1246',
    noCoordinates: 'Keine gültigen Koordinaten. Breite zuerst: 52.5007, 13.1246',
    show: 'Auf der Karte anzeigen',
    nothingKnown:
      'Die Position des Platzes ist unbekannt. Ein Cart mit Tracker im Freien einschalten, die Platzkarte anlegen ' +
      'oder Koordinaten eingeben.',
    askFar: (distance: string, cart: string) => `Die Halle ist ${distance} von Cart ${cart} entfernt. Wirklich?`,
    farWhy: 'Kein anderes Cart ist näher. Nur Carts im Kreis gelten als in der Halle.',
    drag: (margin: string) =>
      'Kreis ziehen zum Verschieben, Rand ziehen für die Größe. ' +
      `Etwa ${margin} größer als das Gebäude wählen: GPS ist unter Dächern ungenau.`,
    radius: 'Radius',
    smaller: 'Kleiner',
    larger: 'Größer',
    save: 'Speichern',
    saving: 'Speichert',
    saved: 'Gespeichert. Carts darin gelten binnen einer Minute als in der Halle.',
    back: 'Zur Karte',
    outline: 'Die Halle hat einen Umriss. Speichern ersetzt ihn durch diesen Kreis.',
    adminOnly: 'Nur für Admins.',
    changed: 'Die Zonen werden gerade bearbeitet. Gleich erneut speichern.',
    noAnswer: 'Keine Antwort vom Gateway. Die Änderungen bleiben: erneut speichern.',
    refused: (detail: string) => `Nicht gespeichert: ${detail}`,
    name: 'Halle',
  },
})
