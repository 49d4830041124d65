import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { MeJson } from '#shared/wire/sessions.ts'

type Site = MeJson['site']

/** What was chosen on this tablet; null is as the site has it. */
export interface Choice {
  language: Site['language'] | null
  units: Site['units'] | null
}

/** What it is kept in; browsers may forbid it, and it may be full. */
export type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

const CHOICE = 'cartbarn.choice'
const PERSON = 'cartbarn.person'

/** What this tablet remembers by itself; where the browser forbids that, until the page is left. */
export class Preferences {
  readonly #shelf: () => Shelf
  readonly #choice = signal<Choice>({ language: null, units: null })
  readonly #personId = signal<string | null>(null)

  constructor(shelf: () => Shelf = () => localStorage) {
    this.#shelf = shelf
  }

  get choice(): ReadonlySignal<Choice> {
    return this.#choice
  }

  /** Who acted here last, and has not said goodbye. */
  get personId(): ReadonlySignal<string | null> {
    return this.#personId
  }

  load(): void {
    this.#choice.value = readChoice(this.#read(CHOICE))
    this.#personId.value = this.#read(PERSON)
  }

  choose(change: Partial<Choice>): void {
    this.#choice.value = { ...this.#choice.value, ...change }
    this.#write(CHOICE, JSON.stringify(this.#choice.value))
  }

  /** Takes what was chosen at another address of this gateway, as `toQuery` wrote it, where nothing was chosen here. */
  adopt(query: string): void {
    const given = readChoice(JSON.stringify(Object.fromEntries(new URLSearchParams(query))))
    const own = this.#choice.value
    this.choose({ language: own.language ?? given.language, units: own.units ?? given.units })
  }

  remember(personId: string | null): void {
    if (this.#personId.value === personId) return
    this.#personId.value = personId
    this.#write(PERSON, personId)
  }

  #read(name: string): string | null {
    try {
      return this.#shelf().getItem(name)
    } catch {
      return null
    }
  }

  #write(name: string, text: string | null): void {
    try {
      if (text === null) this.#shelf().removeItem(name)
      else this.#shelf().setItem(name, text)
    } catch {
      // it holds until the page is left
    }
  }
}

/** `?language=de`: what was chosen, for an address. */
export function toQuery(choice: Choice): string {
  const chosen = Object.entries(choice).filter((entry): entry is [string, string] => entry[1] !== null)
  return chosen.length === 0 ? '' : `?${new URLSearchParams(chosen)}`
}

/** Anything but a choice is none. */
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
