import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { MeJson } from '#shared/wire/sessions.ts'
import { keepText, readKept, type Shelf } from './page/kept-text.ts'

type Site = MeJson['site']

/** Choices made on this tablet; null uses the site's setting. */
export interface Choice {
  language: Site['language'] | null
  units: Site['units'] | null
}

const CHOICE = 'cartbarn.choice'
const PERSON = 'cartbarn.person'
const TABLET_DAY = 'cartbarn.tablet-day'

/** Preferences of this tablet; if the browser forbids storage, they last until the page is left. */
export class Preferences {
  readonly #shelf: Shelf
  readonly #choice = signal<Choice>({ language: null, units: null })
  readonly #personId = signal<string | null>(null)
  #tabletDay: string | null = null

  constructor(shelf: Shelf = () => localStorage) {
    this.#shelf = shelf
  }

  get choice(): ReadonlySignal<Choice> {
    return this.#choice
  }

  /** Last PIN user here who has not signed out. */
  get personId(): ReadonlySignal<string | null> {
    return this.#personId
  }

  /** Day on which staff chose to use the shared tablet without a PIN. */
  get tabletDay(): string | null {
    return this.#tabletDay
  }

  load(): void {
    this.#choice.value = readChoice(readKept(this.#shelf, CHOICE))
    this.#personId.value = readKept(this.#shelf, PERSON)
    this.#tabletDay = readKept(this.#shelf, TABLET_DAY)
  }

  choose(change: Partial<Choice>): void {
    this.#choice.value = { ...this.#choice.value, ...change }
    keepText(this.#shelf, CHOICE, JSON.stringify(this.#choice.value))
  }

  /** Adopts the choices made at another address of this gateway, in the form of `toQuery`, unless one was made here. */
  adopt(query: string): void {
    const given = readChoice(JSON.stringify(Object.fromEntries(new URLSearchParams(query))))
    const own = this.#choice.value
    this.choose({ language: own.language ?? given.language, units: own.units ?? given.units })
  }

  remember(personId: string | null): void {
    if (this.#personId.value === personId) return
    this.#personId.value = personId
    keepText(this.#shelf, PERSON, personId)
  }

  rememberTabletDay(day: string): void {
    this.#tabletDay = day
    keepText(this.#shelf, TABLET_DAY, day)
  }
}

/** Encodes the choices for an address, such as `?language=de`. */
export function toQuery(choice: Choice): string {
  const chosen = Object.entries(choice).filter((entry): entry is [string, string] => entry[1] !== null)
  return chosen.length === 0 ? '' : `?${new URLSearchParams(chosen)}`
}

/** Parses stored choices; invalid text yields the defaults. */
function readChoice(text: string | null): Choice {
  const known = parsed(text ?? 'null')
  const { language, units } = typeof known === 'object' && known !== null ? { ...EMPTY, ...known } : EMPTY
  return {
    language: language === 'en' || language === 'de' ? language : null,
    units: units === 'metric' || units === 'imperial' ? units : null,
  }
}

const EMPTY: { language?: unknown; units?: unknown } = {}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
