import type { Language } from './texts.ts'

/** Texts offered for messages to carts while the course has none of its own, in its language: golfers read them. */
export const QUICK_MESSAGES: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'Please pick up the pace.',
    'Please let the group behind you play through.',
    'Please keep up with the group ahead of you.',
    'Please return the cart to the barn.',
  ],
  de: [
    'Bitte spielen Sie etwas zügiger.',
    'Bitte lassen Sie die Gruppe hinter Ihnen durchspielen.',
    'Bitte bleiben Sie an der Gruppe vor Ihnen.',
    'Bitte bringen Sie das Cart zur Halle zurück.',
  ],
}
