import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { Role } from '#shared/wire/users.ts'

const SCREENS = ['map', 'fleet', 'pace', 'evening', 'alerts', 'more'] as const
export type ScreenName = (typeof SCREENS)[number]

/** Returns the screens of a role: players see the positions of carts, staff see everything else too. */
export function screensFor(role: Role): readonly ScreenName[] {
  return role === 'user' ? ['map', 'more'] : SCREENS
}

/** Filters and order of a list by name; without those that have their usual value. */
export type Query = Readonly<Record<string, string>>

/** `rest` is the part after the screen: a cart on the map, a page of More. */
export interface Route {
  /** Null for an address without a screen. */
  screen: ScreenName | null
  rest: string | null
  query: Query
}

/** Pages whose place has changed, so that bookmarks of earlier versions stay valid. */
const MOVED: Readonly<Record<string, string>> = { '#/more/pace': '#/pace' }

/** Parses an address: `#/map/17` is cart 17 on the map, `#/fleet?show=low` a filtered list; none is the map. */
export function readRoute(hash: string): Route {
  const [path = '', query = ''] = (MOVED[hash] ?? hash).split('?', 2)
  const [, name = '', rest] = /^#\/([^/]+)(?:\/(.+))?$/.exec(path) ?? ['', 'map']
  const screen = SCREENS.find((one) => one === name) ?? null
  return {
    screen,
    rest: rest === undefined ? null : decoded(rest),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

export function toHash(screen: ScreenName, rest?: string | null, query: Query = {}): string {
  const path = rest == null ? '' : `/${rest.split('/').map(encodeURIComponent).join('/')}`
  const text = new URLSearchParams(query).toString()
  return `#/${screen}${path}${text === '' ? '' : `?${text}`}`
}

/** Builds the address of a cart's day, which opens today. */
export function toDayHash(cart: string): string {
  return toHash('more', `day/${cart}`)
}

/** Route of the current page address. */
export class Router {
  readonly #route = signal<Route>(readRoute(''))
  readonly #holds = new Set<{ question: string }>()
  readonly #asked = signal<string | null>(null)
  #hash = ''

  get route(): ReadonlySignal<Route> {
    return this.#route
  }

  /** Question to confirm before the page is left; null if none. Respond with `leave` or `stay`. */
  get asked(): ReadonlySignal<string | null> {
    return this.#asked
  }

  start(): void {
    addEventListener('hashchange', () => this.#read())
    // browsers show a text of their own
    addEventListener('beforeunload', (event) => {
      if (this.#holds.size > 0) event.preventDefault()
    })
    this.#read()
  }

  /** Shows the question before this page is left, until the returned function is called. */
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

  /** Builds the address of another thing of the same list: it keeps the filters and the order. */
  beside(rest: string | null): string {
    const { screen, query } = this.#route.value
    return toHash(screen ?? 'map', rest, query)
  }

  /** Changes filters or the order in place: Back leaves the screen; an empty value removes one. */
  choose(change: Query): void {
    const { screen, rest, query } = this.#route.value
    if (screen === null) return
    const chosen = Object.entries({ ...query, ...change }).filter(([, value]) => value !== '')
    this.#hash = toHash(screen, rest, Object.fromEntries(chosen))
    history.replaceState(null, '', this.#hash)
    this.#route.value = readRoute(this.#hash)
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
