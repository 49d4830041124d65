import { defineTexts } from './texts.ts'

export const personTexts = defineTexts({
  en: {
    who: 'Who is it?',
    whoForRights: 'This needs an admin. Who is it?',
    idle: 'Nobody did anything here for ten minutes.',
    pinOf: (name: string) => `PIN of ${name}`,
    pin: 'PIN',
    erase: 'Delete',
    ok: 'OK',
    cancel: 'Cancel',
    others: 'Somebody else',
    nobody: (name: string) => `Nobody in particular (${name})`,
    key: 'Your key',
    goOn: 'Go on',
    nobodyHasPin: 'Nobody who may do this has a PIN. Set a PIN (More, Who acts), so that you need the key only now.',
  },
  de: {
    who: 'Wer ist da?',
    whoForRights: 'Dafür braucht es einen Admin. Wer ist da?',
    idle: 'Hier hat zehn Minuten lang niemand etwas getan.',
    pinOf: (name: string) => `PIN von ${name}`,
    pin: 'PIN',
    erase: 'Löschen',
    ok: 'OK',
    cancel: 'Abbrechen',
    others: 'Jemand anderes',
    nobody: (name: string) => `Niemand Bestimmtes (${name})`,
    key: 'Ihr Schlüssel',
    goOn: 'Weiter',
    nobodyHasPin:
      'Niemand, der das darf, hat eine PIN. Eine PIN setzen (Mehr, Wer handelt), dann braucht es den Schlüssel ' +
      'nur jetzt.',
  },
})
