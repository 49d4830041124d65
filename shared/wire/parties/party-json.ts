import { textSearch } from '#shared/device-filter.ts'
import type { TimeZone } from '#shared/site/time-zone.ts'
import { isoOrNull, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartJson } from '../carts.ts'
import type { HandedOut, Party, PartyJson, PartyState, ReplicatedParty } from './parties.ts'

/** Fields of a party that do not leave the course, with the driver of each cart. */
interface PartyNames extends Pick<Party, 'players' | 'note' | 'notes'> {
  drivers: readonly (string | null)[]
}
const NO_NAMES: PartyNames = { players: [], note: null, notes: [], drivers: [] }

/** Splits a party into its fields for the hub, and its names; null for none. */
export function splitParty({ players, note, notes, ...others }: Party): { body: object; names: PartyNames | null } {
  const drivers = others.carts.map(({ driver }) => driver)
  const hasNames =
    players.length + notes.length > 0 || note !== null || others.external_id !== null || drivers.some((name) => name)
  return {
    body: { ...others, carts: others.carts.map(({ driver: _, ...cart }) => cart) },
    names: hasNames ? { players, note, notes, drivers } : null,
  }
}

/** Joins what `splitParty` returned, without what an erasure has blanked; undefined for anything else. */
export function readParty(body: ReplicatedParty, names: PartyNames | null = null): Party | undefined {
  // without the schema library, which the threads of the store do not load
  if (!Array.isArray(body.carts)) return undefined
  const { players, note, notes, drivers } = names ?? NO_NAMES
  return {
    ...body,
    external_id: body.external_id || null,
    carts: body.carts.map((one, i) => ({ ...one, driver: drivers[i] || null })),
    players: players.filter((name) => name !== ''),
    note: note || null,
    notes: notes.filter(({ text }) => text !== ''),
  }
}

/** Time to return a cart, after the last hole. */
const RETURN_MS = 30 * MINUTE_MS

export function stateOf({ carts }: Pick<Party, 'carts'>): PartyState {
  if (carts.length === 0) return 'booked'
  return carts.some(isOut) ? 'out' : 'over'
}

export function isOut({ returned_at }: HandedOut): boolean {
  return returned_at === null
}

/** Returns the expected end; null while booked. */
function untilOf({ carts, tee_time, holes, until }: Party, minutesPerHole: number): number | null {
  const [first] = carts
  if (until !== null) return Date.parse(until)
  if (first === undefined) return null
  return (
    Math.max(Date.parse(first.given_at), Date.parse(tee_time ?? first.given_at)) +
    holes * minutesPerHole * MINUTE_MS +
    RETURN_MS
  )
}

function isOverdue(party: Party, minutesPerHole: number, nowMs: number): boolean {
  const untilMs = untilOf(party, minutesPerHole)
  return stateOf(party) === 'out' && untilMs !== null && untilMs < nowMs
}

/** True if a cart was out after the expected end, or still is. */
export function wasOverdue(party: Party, minutesPerHole: number, nowMs: number): boolean {
  const untilMs = untilOf(party, minutesPerHole)
  return untilMs !== null && party.carts.some(({ returned_at }) => Date.parse(returned_at ?? toIso(nowMs)) > untilMs)
}

/** Party as sent to those who see only some of its carts. */
export function toPartyJson(
  party: Party,
  { minutesPerHole, nowMs, sees }: { minutesPerHole: number; nowMs: number; sees: (cart: string) => boolean },
): PartyJson {
  return {
    ...party,
    state: stateOf(party),
    until: isoOrNull(untilOf(party, minutesPerHole)),
    is_overdue: isOverdue(party, minutesPerHole, nowMs),
    carts: party.carts.filter(({ cart }) => sees(cart)),
  }
}

/** Returns the local day of a parameter. */
export function partyDayOf(day: string | number | undefined, zone: TimeZone): string | undefined {
  return typeof day === 'number' ? zone.local(day).date : day
}

export interface PartyFilter {
  state?: PartyState | undefined
  cart?: string | undefined
  search?: string | undefined
  /** Carts that the caller sees; absent for all. */
  visible?: readonly string[] | undefined
}

/** Returns the test of a list: parties without carts, and those with a cart that the caller sees. */
export function partyTest({ state, cart, search = '', visible }: PartyFilter): (party: Party) => boolean {
  const isFound = search.trim() === '' ? undefined : textSearch(search)
  return (party) => {
    const seen = party.carts.filter((one) => visible?.includes(one.cart) ?? true)
    const texts = [party.external_id, ...party.players, ...seen.flatMap((one) => [one.cart, one.driver])]
    return (
      seen.length >= Math.min(1, party.carts.length) &&
      (state === undefined || stateOf(party) === state) &&
      (cart === undefined || seen.some((one) => one.cart === cart)) &&
      (isFound === undefined || texts.some((text) => text !== null && isFound(text)))
    )
  }
}

/** Returns what the carts show that are out with these parties. */
export function cartPartiesOf(parties: Iterable<Party>, minutesPerHole: number, nowMs: number): Map<string, CartParty> {
  const byCart = new Map<string, CartParty>()
  for (const party of parties)
    for (const handedOut of party.carts.filter(isOut))
      byCart.set(handedOut.cart, {
        party,
        handedOut,
        untilMs: untilOf(party, minutesPerHole),
        isOverdue: isOverdue(party, minutesPerHole, nowMs),
      })
  return byCart
}

/** Party of a cart that is out, with what changes by time. */
export interface CartParty {
  readonly party: Party
  readonly handedOut: HandedOut
  readonly untilMs: number | null
  readonly isOverdue: boolean
}

export function toCartPartyJson(
  { party, handedOut, untilMs, isOverdue: overdue }: CartParty,
  seesNames: boolean,
): CartJson['party'] {
  return {
    party_id: party.party_id,
    players: seesNames ? party.players : [],
    driver: seesNames ? handedOut.driver : null,
    holes: party.holes,
    tee_time: party.tee_time,
    start_hole: party.start_hole,
    until: isoOrNull(untilMs),
    is_overdue: overdue,
    given_at: handedOut.given_at,
  }
}
