import { signal } from '@preact/signals-core'

export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]

/** Language of the tablet; components that read texts render again when it changes. */
export const language = signal<Language>('en')

/** The words of a screen in every language; a word that German lacks does not compile. */
export function defineTexts<Words>(texts: { en: Words; de: NoInfer<Words> }): () => Words {
  return () => texts[language.value]
}
