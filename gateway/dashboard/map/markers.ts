import type { CartFilter } from '#dashboard/live/fleet/cart-filter.ts'
import { matchesFilter } from '#dashboard/live/fleet/cart-filter.ts'
import { byNumber, isParked, type MarkerStyle, markerStyleOf } from '#dashboard/live/fleet/marker-style.ts'
import type { Pace } from '#dashboard/live/pace.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { toX, toY } from './mercator.ts'

/** Number of different arrows; finer steps are not visible. */
export const HEADINGS = 24

/** Style of a sign: the state of the cart, or its pace. */
export type SignStyle = MarkerStyle | Pace
/** Pace of the carts on a round, by cart; null while signs show the state. */
export type Paces = ReadonlyMap<string, Pace> | null

/** Drawn cart; one object as long as the cart exists, mutated in place. */
export interface Marker {
  cart: CartJson
  style: SignStyle
  label: string
  /** Position on the map's plane. */
  x: number
  y: number
  /** Heading in steps of `HEADINGS` from north; -1 while it stands. */
  heading: number
  /** Position on the screen at the last drawing. */
  px: number
  py: number
  isShown: boolean
  pill: ParkingCluster | null
  /** Sign that covers this one, and the number of signs that this one covers. */
  top: Marker | null
  below: number
}

/** Carts in one parking zone: one sign for all of them until the map is zoomed in. */
export interface ParkingCluster {
  zoneId: string
  count: number
  open: number
  low: number
  west: number
  south: number
  east: number
  north: number
  px: number
  py: number
  isShown: boolean
  /** Value at the last drawing. */
  halfWidthPx: number
}

/** Drawing order: more important carts are drawn later, on top. */
const RANKS: Record<SignStyle, number> = {
  in: 0,
  out: 1,
  between: 1,
  'on time': 1,
  unlocked: 2,
  silent: 3,
  behind: 3,
  low: 4,
  late: 4,
  outside: 5,
}

/** True for a cart without a problem. */
export function isPlain({ style }: Marker): boolean {
  return RANKS[style] <= 1
}

/** Carts of the fleet that have a position and pass the filter, in drawing order. */
export class Markers {
  readonly #byCart = new Map<string, Marker>()
  readonly #pills = new Map<string, ParkingCluster>()
  #drawn: Marker[] = []
  #filter: CartFilter | null = null
  #paces: Paces = null

  get all(): readonly Marker[] {
    return this.#drawn
  }

  get pills(): Iterable<ParkingCluster> {
    return this.#pills.values()
  }

  find(cart: string): Marker | undefined {
    return this.#byCart.get(cart)
  }

  /** Applies the present fleet; the chosen cart passes any filter. Returns true if a redraw is needed. */
  take(
    carts: ReadonlyMap<string, CartJson>,
    filter: CartFilter | null,
    chosen: string | null,
    paces: Paces = null,
  ): boolean {
    const isWanted = (cart: CartJson) => cart.position !== null && (cart.cart === chosen || matchesFilter(cart, filter))
    const isRepainted = paces !== this.#paces
    let isOther = filter !== this.#filter || isRepainted
    let isReordered = isOther
    this.#filter = filter
    this.#paces = paces
    for (const name of this.#byCart.keys()) {
      const cart = carts.get(name)
      if (cart !== undefined && isWanted(cart)) continue
      this.#byCart.delete(name)
      isOther = true
      isReordered = true
    }
    for (const cart of carts.values()) {
      const known = this.#byCart.get(cart.cart)
      if (known?.cart === cart && !isRepainted) continue
      if (!isWanted(cart)) continue
      isOther = true
      if (known === undefined) this.#add(cart)
      else if (!update(known, cart, paces)) continue
      isReordered = true
    }
    if (isReordered) this.#drawn = [...this.#byCart.values()].sort(byRank)
    if (isOther) this.#gather()
    return isOther
  }

  #add(cart: CartJson): void {
    const marker: Marker = {
      cart,
      style: 'out',
      label: shortened(cart.cart),
      heading: -1,
      isShown: false,
      pill: null,
      top: null,
      below: 0,
      x: 0,
      y: 0,
      px: 0,
      py: 0,
    }
    update(marker, cart, this.#paces)
    this.#byCart.set(cart.cart, marker)
  }

  #gather(): void {
    this.#pills.clear()
    for (const marker of this.#drawn) {
      marker.pill = null
      // a cart without a signal in the barn would be hidden in a cluster
      const isInside = marker.cart.state === 'in' && isParked(marker.cart)
      const zone = isInside ? marker.cart.zones.find(({ type }) => type === 'parking') : undefined
      if (zone !== undefined) this.#park(marker, zone.zone_id)
    }
    for (const pill of this.#pills.values()) if (pill.count < 2) this.#pills.delete(pill.zoneId)
    for (const marker of this.#drawn) if ((marker.pill?.count ?? 0) < 2) marker.pill = null
  }

  #park(marker: Marker, zoneId: string): void {
    const { x, y } = marker
    const pill = this.#pills.get(zoneId) ?? {
      zoneId,
      count: 0,
      open: 0,
      low: 0,
      west: x,
      south: y,
      east: x,
      north: y,
      px: 0,
      py: 0,
      isShown: false,
      halfWidthPx: 0,
    }
    this.#pills.set(zoneId, pill)
    pill.count += 1
    if (marker.cart.lock?.is_locked === false) pill.open += 1
    if (marker.cart.is_low) pill.low += 1
    pill.west = Math.min(pill.west, x)
    pill.east = Math.max(pill.east, x)
    pill.south = Math.min(pill.south, y)
    pill.north = Math.max(pill.north, y)
    marker.pill = pill
  }
}

function byRank(a: Marker, b: Marker): number {
  return RANKS[a.style] - RANKS[b.style] || byNumber(a.cart, b.cart)
}

/** True if its place in the drawing order has changed. */
function update(marker: Marker, cart: CartJson, paces: Paces): boolean {
  const style = paces === null ? markerStyleOf(cart) : paceStyleOf(cart, paces)
  const isReordered = marker.style !== style
  marker.cart = cart
  marker.style = style
  if (cart.position !== null) {
    marker.x = toX(cart.position.long)
    marker.y = toY(cart.position.lat)
  }
  const heading = cart.position?.heading ?? null
  const drives = cart.is_moving && heading !== null && cart.state !== 'silent' && cart.state !== 'unknown'
  marker.heading = drives ? Math.round((heading / 360) * HEADINGS) % HEADINGS : -1
  return isReordered
}

/** Returns the pace of a cart on a round; others keep only what hides their position. */
function paceStyleOf(cart: CartJson, paces: ReadonlyMap<string, Pace>): SignStyle {
  return paces.get(cart.cart) ?? markerStyleOf({ ...cart, is_low: false }, { marksUnlocked: false })
}

/** Shortens a cart name to fit its sign, as in lists. */
export function shortened(cart: string): string {
  const letters = [...cart]
  return letters.length > 4 ? `${letters.slice(0, 3).join('')}…` : cart
}
