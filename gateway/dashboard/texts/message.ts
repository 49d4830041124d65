import { defineTexts } from './texts.ts'

/** Numbers up to which carts are listed by number. */
const NAMED_MAX = 6

/** Messages to the screens of carts, and their confirmation by the carts. */
export const messageTexts = defineTexts({
  en: {
    messageTo: (carts: readonly string[]) => `Message to ${cartsInWords(carts, 'cart', 'carts')}`,
    beepAt: (carts: readonly string[]) => `Beep ${cartsInWords(carts, 'cart', 'carts')}`,
    quick: 'Quick messages: a tap sends',
    text: 'Other text',
    left: (count: number) => `${count} characters left`,
    send: 'Send',
    noScreen: 'None of them has a screen.',
    screens: (count: number) => (count === 1 ? 'Shown on 1 screen.' : `Shown on ${count} screens.`),
    confirmed: (count: number, total: number) => `Confirmed: ${count} of ${total}.`,
    failed: (carts: readonly string[]) => `Failed: ${carts.join(', ')}.`,
  },
  de: {
    messageTo: (carts: readonly string[]) => `Nachricht an ${cartsInWords(carts, 'Cart', 'Carts')}`,
    beepAt: (carts: readonly string[]) => `${cartsInWords(carts, 'Cart', 'Carts')} piepen lassen`,
    quick: 'Schnellnachrichten: Ein Tipp sendet',
    text: 'Anderer Text',
    left: (count: number) => `Noch ${count} Zeichen`,
    send: 'Senden',
    noScreen: 'Keines dieser Carts hat einen Bildschirm.',
    screens: (count: number) => (count === 1 ? 'Erscheint auf 1 Bildschirm.' : `Erscheint auf ${count} Bildschirmen.`),
    confirmed: (count: number, total: number) => `Bestätigt: ${count} von ${total}.`,
    failed: (carts: readonly string[]) => `Fehlgeschlagen: ${carts.join(', ')}.`,
  },
})

function cartsInWords(carts: readonly string[], one: string, several: string): string {
  if (carts.length > NAMED_MAX) return `${carts.length} ${several}`
  return `${carts.length === 1 ? one : several} ${carts.join(', ')}`
}
