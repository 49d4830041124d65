import { signal } from '@preact/signals-core'
import type { Units } from '#shared/units.ts'

export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]

/** Language of the tablet; components that read texts render again when it changes. */
export const language = signal<Language>('en')

/** Units of the tablet: a course in miles writes dates and times the American way. */
export const units = signal<Units>('metric')

/** Returns the locale of dates, times and numbers. */
export function locale(): 'de-DE' | 'en-GB' | 'en-US' {
  if (language.value === 'de') return 'de-DE'
  return units.value === 'imperial' ? 'en-US' : 'en-GB'
}

/** The words of a screen in every language; a word that German lacks does not compile. */
export function defineTexts<Words>(texts: { en: Words; de: NoInfer<Words> }): () => Words {
  return () => texts[language.value]
}
