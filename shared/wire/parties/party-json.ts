import { textSearch } from '#shared/device-filter.ts'
import type { TimeZone } from '#shared/site/time-zone.ts'
import { isoOrNull, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartJson } from '../carts.ts'
import type { HandedOut, Party, PartyJson, PartyState } from './parties.ts'

/** Time to return a cart, after the last hole. */
const RETURN_MS = 30 * MINUTE_MS

export function stateOf({ carts }: Pick<Party, 'carts'>): PartyState {
  if (carts.length === 0) return 'booked'
  return carts.some(isOut) ? 'out' : 'over'
}

export function isOut({ returnedAtMs }: HandedOut): boolean {
  return returnedAtMs === null
}

/** Returns the expected end; null while booked. */
function untilOf({ carts, teeTimeMs, holes, untilMs }: Party, minutesPerHole: number): number | null {
  const [first] = carts
  if (first === undefined || untilMs !== null) return untilMs
  return Math.max(first.givenAtMs, teeTimeMs ?? 0) + holes * minutesPerHole * MINUTE_MS + RETURN_MS
}

function isOverdue(party: Party, minutesPerHole: number, nowMs: number): boolean {
  const untilMs = untilOf(party, minutesPerHole)
  return stateOf(party) === 'out' && untilMs !== null && untilMs < nowMs
}

/** Stored fields of a party as JSON. */
export function toPartyFields(party: Party) {
  return {
    party_id: party.partyId,
    date: party.date,
    tee_time: isoOrNull(party.teeTimeMs),
    start_hole: party.startHole,
    holes: party.holes,
    players: party.players,
    note: party.note,
    external_id: party.externalId,
    source: party.source,
    until: isoOrNull(party.untilMs),
    carts: party.carts.map(({ cart, driver, givenAtMs, by, returnedAtMs, returned }) => ({
      cart,
      driver,
      given_at: toIso(givenAtMs),
      by,
      returned_at: isoOrNull(returnedAtMs),
      returned,
    })),
    notes: party.notes.map(({ atMs, text, by }) => ({ at: toIso(atMs), text, by })),
    created_at: toIso(party.createdAtMs),
    by: party.by,
  }
}

/** Party as sent to those who see only some of its carts. */
export function toPartyJson(
  party: Party,
  { minutesPerHole, nowMs, sees }: { minutesPerHole: number; nowMs: number; sees: (cart: string) => boolean },
): PartyJson {
  const fields = toPartyFields(party)
  return {
    ...fields,
    state: stateOf(party),
    until: isoOrNull(untilOf(party, minutesPerHole)),
    is_overdue: isOverdue(party, minutesPerHole, nowMs),
    carts: fields.carts.filter(({ cart }) => sees(cart)),
    updated_at: toIso(party.updatedAtMs),
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
    const texts = [party.externalId, ...party.players, ...seen.flatMap((one) => [one.cart, one.driver])]
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
    party_id: party.partyId,
    players: seesNames ? party.players : [],
    driver: seesNames ? handedOut.driver : null,
    holes: party.holes,
    tee_time: isoOrNull(party.teeTimeMs),
    start_hole: party.startHole,
    until: isoOrNull(untilMs),
    is_overdue: overdue,
    given_at: toIso(handedOut.givenAtMs),
  }
}
