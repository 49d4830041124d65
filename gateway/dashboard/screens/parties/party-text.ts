import { formatTime } from '#dashboard/texts/format.ts'
import { partyTexts } from '#dashboard/texts/parties/parties.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { ApiError } from '#shared/client.ts'
import type { PartyJson } from '#shared/wire/parties/parties.ts'

/** Formats the time of a moment of a party; empty for none. */
function timeText(at: string | null, timeZone: string): string {
  return at === null ? '' : formatTime(Date.parse(at), timeZone)
}

/** Line such as "Given to Miller until 14:20". */
export function givenText(name: string | null, until: string | null, isOverdue: boolean, timeZone: string): string {
  const texts = partyTexts()
  return (isOverdue ? texts.overdue : texts.given)(name, timeText(until, timeZone))
}

function playersText({ players }: Pick<PartyJson, 'players'>): string {
  return players.length === 0 ? partyTexts().anyone : players.join(', ')
}

/** Tee time with the players. */
export function partyText(party: PartyJson, timeZone: string): string {
  return [timeText(party.tee_time, timeZone), playersText(party)].filter((text) => text !== '').join(' ')
}

/** Carts of a party that are out, with their numbers. */
export function cartsOut({ carts }: PartyJson): string[] {
  return carts.filter(({ returned_at }) => returned_at === null).map(({ cart }) => cart)
}

export function partyRefusal(error: unknown): string {
  const codes: Readonly<Record<string, string>> = partyTexts().codes
  return (error instanceof ApiError ? codes[error.code] : undefined) ?? refusalText(error)
}
