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

  get route(): ReadonlySignal<Route> {
    return this.#route
  }

  start(): void {
    const read = () => {
      this.#route.value = readRoute(location.hash)
    }
    addEventListener('hashchange', read)
    read()
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
