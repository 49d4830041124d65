import { isoOrNull, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartJson } from '../carts.ts'
import type { PartyBody, PartyJson, PartyState } from './parties.ts'

type Person = PartyBody['made_by']

/** Cart that was given to a party. */
export interface HandedOut {
  cart: string
  driver: string | null
  givenAtMs: number
  by: Person
  returnedAtMs: number | null
  returned: PartyBody['carts'][number]['returned']
}

/** Carts that play together. Replaced as a whole, never changed. */
export interface Party {
  readonly partyId: string
  readonly date: string
  readonly teeTimeMs: number | null
  readonly startHole: number | null
  readonly holes: number
  readonly players: readonly string[]
  readonly note: string | null
  readonly externalId: string | null
  readonly source: PartyBody['source']
  /** Null for the default. */
  readonly untilMs: number | null
  readonly carts: readonly HandedOut[]
  readonly notes: readonly { atMs: number; text: string; by: Person }[]
  readonly by: Person
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** Names of golfers, which do not leave the course. */
export interface PartyNames {
  players: readonly string[]
  drivers: readonly (string | null)[]
  note: string | null
  notes: Party['notes']
}

const NO_NAMES: PartyNames = { players: [], drivers: [], note: null, notes: [] }

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

/** Party as sent to those who see only some of its carts. */
export function toPartyJson(
  party: Party,
  { minutesPerHole, nowMs, sees }: { minutesPerHole: number; nowMs: number; sees: (cart: string) => boolean },
): PartyJson {
  return {
    party_id: party.partyId,
    state: stateOf(party),
    date: party.date,
    tee_time: isoOrNull(party.teeTimeMs),
    start_hole: party.startHole,
    holes: party.holes,
    players: [...party.players],
    note: party.note,
    external_id: party.externalId,
    source: party.source,
    until: isoOrNull(untilOf(party, minutesPerHole)),
    is_overdue: isOverdue(party, minutesPerHole, nowMs),
    carts: party.carts
      .filter(({ cart }) => sees(cart))
      .map(({ cart, driver, givenAtMs, by, returnedAtMs, returned }) => ({
        cart,
        driver,
        given_at: toIso(givenAtMs),
        by,
        returned_at: isoOrNull(returnedAtMs),
        returned,
      })),
    notes: party.notes.map(({ atMs, text, by }) => ({ at: toIso(atMs), text, by })),
    created_at: toIso(party.createdAtMs),
    updated_at: toIso(party.updatedAtMs),
    by: party.by,
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
    players: seesNames ? [...party.players] : [],
    driver: seesNames ? handedOut.driver : null,
    holes: party.holes,
    tee_time: isoOrNull(party.teeTimeMs),
    start_hole: party.startHole,
    until: isoOrNull(untilMs),
    is_overdue: overdue,
    given_at: toIso(handedOut.givenAtMs),
  }
}

/** Returns a stored or replicated party; an erased name is an empty text. */
export function readParty(body: PartyBody, names: PartyNames = NO_NAMES): Party {
  return {
    partyId: body.party_id,
    date: body.date,
    teeTimeMs: body.tee_time_ms,
    startHole: body.start_hole,
    holes: body.holes,
    players: names.players.filter((name) => name !== ''),
    note: names.note || null,
    externalId: body.external_id || null,
    source: body.source,
    untilMs: body.until_ms,
    carts: body.carts.map((one, i) => ({
      cart: one.cart,
      driver: names.drivers[i] || null,
      givenAtMs: one.given_at_ms,
      by: one.by,
      returnedAtMs: one.returned_at_ms,
      returned: one.returned,
    })),
    notes: names.notes.filter(({ text }) => text !== ''),
    by: body.made_by,
    createdAtMs: body.created_at_ms,
    updatedAtMs: body.updated_at_ms,
  }
}

/** Columns of a party without names. */
export function toPartyBody(party: Party): PartyBody {
  return {
    party_id: party.partyId,
    date: party.date,
    tee_time_ms: party.teeTimeMs,
    start_hole: party.startHole,
    holes: party.holes,
    external_id: party.externalId,
    source: party.source,
    until_ms: party.untilMs,
    carts: party.carts.map(({ cart, givenAtMs, by, returnedAtMs, returned }) => ({
      cart,
      given_at_ms: givenAtMs,
      by,
      returned_at_ms: returnedAtMs,
      returned,
    })),
    made_by: party.by,
    created_at_ms: party.createdAtMs,
    updated_at_ms: party.updatedAtMs,
  }
}
