import { partyBodySchema } from '#shared/wire/parties/parties.ts'
import { type Party, readParty } from '#shared/wire/parties/party-json.ts'
import { JSON_BODY, type Sql } from './database/database.ts'

/** Returns the parties of local days of a site, without names, by tee time (null is last). */
export async function partiesOf(sql: Sql, siteId: string, days: { from?: string; to?: string }): Promise<Party[]> {
  const date = `${JSON_BODY} ->> 'date'`
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'party' AND body IS NOT NULL
       AND ${date} >= $2 AND ${date} <= $3`,
    [siteId, days.from ?? '', days.to ?? '~'],
  )
  return rows
    .flatMap(({ body }) => partyBodySchema.safeParse(JSON.parse(body)).data ?? [])
    .map((body) => readParty(body))
    .sort(
      (a, b) =>
        (a.teeTimeMs ?? Number.MAX_SAFE_INTEGER) - (b.teeTimeMs ?? Number.MAX_SAFE_INTEGER) ||
        a.createdAtMs - b.createdAtMs,
    )
}
