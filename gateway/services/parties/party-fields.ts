import { newUuid } from '#shared/ids.ts'
import type { TimeZone } from '#shared/site/time-zone.ts'
import type { NewParty, Party } from '#shared/wire/parties/parties.ts'

/** Fields of a party in a request or a tee sheet: absent ones stay as they are, null is the default. */
export type PartyFields = Partial<Omit<NewParty, 'carts' | 'unlock' | 'move'>>

export function withFields(party: Party, fields: PartyFields, timeZone: TimeZone): Party {
  const { players, tee_time, start_hole, holes, note, external_id, until } = fields
  const teeTimeMs = changed(party.teeTimeMs, tee_time)
  return {
    ...party,
    teeTimeMs,
    date: timeZone.local(teeTimeMs ?? party.createdAtMs).date,
    players: changed(party.players, players) ?? [],
    startHole: changed(party.startHole, start_hole),
    holes: changed(party.holes, holes) ?? 18,
    note: changed(party.note, note) || null,
    externalId: changed(party.externalId, external_id),
    untilMs: changed(party.untilMs, until),
  }
}

function changed<Value>(before: Value, now: Value | null | undefined): Value | null {
  return now === undefined ? before : now
}

/** Returns a new party without fields. */
export function emptyParty({ by, source }: Pick<Party, 'by' | 'source'>, nowMs: number): Party {
  return {
    partyId: newUuid(),
    date: '',
    teeTimeMs: null,
    startHole: null,
    holes: 18,
    players: [],
    note: null,
    externalId: null,
    source,
    untilMs: null,
    carts: [],
    notes: [],
    by,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
}
