import type { SiteSettings } from '#shared/site/settings.ts'

interface RecallTexts {
  /** All carts in. */
  start: string
  end: string
}

/** What screens show when nobody says anything else, by the language of the site. */
export const RECALL_TEXTS: Record<SiteSettings['language'], RecallTexts> = {
  en: { start: 'All carts in: please return to the clubhouse now.', end: 'It is over.' },
  de: { start: 'Alle Carts zurück: Bitte jetzt zum Clubhaus kommen.', end: 'Es ist vorbei.' },
}
