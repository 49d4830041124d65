import { defineTexts } from './texts.ts'

export const personTexts = defineTexts({
  en: {
    who: 'Who are you?',
    whoForRights: 'Admin PIN or key required',
    first: 'This tablet is shared. Your name is recorded with what you do.',
    idle: 'Signed out after 10 minutes of inactivity.',
    pinOf: (name: string) => `PIN for ${name}`,
    pin: 'PIN',
    erase: 'Backspace',
    ok: 'OK',
    cancel: 'Cancel',
    others: 'Someone else',
    asTablet: (name: string) => `Continue as ${name}`,
    key: 'Your key',
    goOn: 'Continue',
    nobodyHasPin: 'Nobody with the required role has a PIN. Set one under More, PIN user, to need the key only now.',
  },
  de: {
    who: 'Wer sind Sie?',
    whoForRights: 'Admin-PIN oder Schlüssel nötig',
    first: 'Dieses Tablet ist gemeinsam. Ihr Name wird mit Ihren Aktionen festgehalten.',
    idle: 'Nach 10 Minuten ohne Eingabe abgemeldet.',
    pinOf: (name: string) => `PIN von ${name}`,
    pin: 'PIN',
    erase: 'Rücktaste',
    ok: 'OK',
    cancel: 'Abbrechen',
    others: 'Andere Person',
    asTablet: (name: string) => `Weiter als ${name}`,
    key: 'Ihr Schlüssel',
    goOn: 'Weiter',
    nobodyHasPin:
      'Niemand mit der nötigen Rolle hat eine PIN. Unter Mehr, Am Tablet, eine setzen: Dann ist der Schlüssel nur ' +
      'jetzt nötig.',
  },
})
