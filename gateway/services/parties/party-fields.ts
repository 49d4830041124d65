import { newUuid } from '#shared/ids.ts'
import type { TimeZone } from '#shared/site/time-zone.ts'
import type { NewParty, Party } from '#shared/wire/parties/parties.ts'

/** Fields of a party in a request or a tee sheet: absent ones stay as they are, null is the default. */
export type PartyFields = Partial<Omit<NewParty, 'carts' | 'unlock' | 'move'>>

export function withFields(party: Party, fields: PartyFields, timeZone: TimeZone): Party {
  const { tee_time = party.tee_time, until = party.until, start_hole = party.start_hole } = fields
  const { players = party.players, holes = party.holes, note = party.note, external_id = party.external_id } = fields
  const date = timeZone.local(Date.parse(tee_time ?? party.created_at)).date
  return {
    ...party,
    date,
    tee_time,
    until,
    start_hole,
    external_id,
    players: players ?? [],
    holes: holes ?? 18,
    note: note || null,
  }
}

/** Returns a new party without fields. */
export function emptyParty({ by, source }: Pick<Party, 'by' | 'source'>, now: string): Party {
  return {
    party_id: newUuid(),
    date: '',
    tee_time: null,
    start_hole: null,
    holes: 18,
    players: [],
    note: null,
    external_id: null,
    source,
    until: null,
    carts: [],
    notes: [],
    by,
    created_at: now,
    updated_at: now,
  }
}
