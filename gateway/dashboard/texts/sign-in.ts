import { defineTexts } from './texts.ts'

export const signInTexts = defineTexts({
  en: {
    title: 'Sign in',
    key: 'Key',
    signIn: 'Sign in',
    wrongKey: 'This key is not valid.',
    noAnswer: 'The gateway does not answer. Try again.',
  },
  de: {
    title: 'Anmelden',
    key: 'Schlüssel',
    signIn: 'Anmelden',
    wrongKey: 'Dieser Schlüssel ist nicht gültig.',
    noAnswer: 'Das Gateway antwortet nicht. Nochmal versuchen.',
  },
})
