import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { Role } from '#shared/wire/users.ts'

const SCREENS = ['map', 'fleet', 'evening', 'alerts', 'more'] as const
export type ScreenName = (typeof SCREENS)[number]

/** Who plays sees where the carts are; the rest is for those who work here. */
export function screensFor(role: Role): readonly ScreenName[] {
  return role === 'user' ? ['map', 'more'] : SCREENS
}

/** `rest` is what comes after the screen: a cart on the map, a page of More. */
export interface Route {
  screen: ScreenName
  rest: string | null
}

/** `#/map/17` is cart 17 on the map. What cannot be read is the map. */
export function readRoute(hash: string): Route {
  const [, name = '', rest] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(hash) ?? []
  const screen = SCREENS.find((one) => one === name) ?? 'map'
  return { screen, rest: rest === undefined ? null : decoded(rest) }
}

export function toHash(screen: ScreenName, rest?: string | null): string {
  return rest == null ? `#/${screen}` : `#/${screen}/${encodeURIComponent(rest)}`
}

/** The page of a cart's day; today, until another one is chosen there. */
export function toDayHash(cart: string): string {
  return toHash('more', `day/${cart}`)
}

/** What the address of the page says now. */
export class Router {
  readonly #route = signal<Route>(readRoute(''))
  readonly #holds = new Set<{ question: string }>()
  readonly #asked = signal<string | null>(null)
  #hash = ''

  get route(): ReadonlySignal<Route> {
    return this.#route
  }

  /** What is asked before the page is left; null while nothing is. Answer with `leave` or `stay`. */
  get asked(): ReadonlySignal<string | null> {
    return this.#asked
  }

  start(): void {
    addEventListener('hashchange', () => this.#read())
    // what browsers ask then is their own text
    addEventListener('beforeunload', (event) => {
      if (this.#holds.size > 0) event.preventDefault()
    })
    this.#read()
  }

  /** Has people asked before this page is left, until what is returned is called. */
  hold(question: string): () => void {
    const hold = { question }
    this.#holds.add(hold)
    return () => this.#holds.delete(hold)
  }

  leave(): void {
    this.#holds.clear()
    this.#asked.value = null
    this.#read()
  }

  stay(): void {
    this.#asked.value = null
    history.pushState(null, '', this.#hash)
  }

  #read(): void {
    const [hold] = this.#holds
    if (hold !== undefined && location.hash !== this.#hash) {
      this.#asked.value = hold.question
      return
    }
    this.#asked.value = null
    this.#hash = location.hash
    this.#route.value = readRoute(location.hash)
  }

  go(screen: ScreenName, rest?: string | null): void {
    location.hash = toHash(screen, rest)
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
