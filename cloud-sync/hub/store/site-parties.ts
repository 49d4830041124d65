import { type Party, replicatedPartySchema } from '#shared/wire/parties/parties.ts'
import { readParty } from '#shared/wire/parties/party-json.ts'
import { JSON_BODY, type Sql } from './database/database.ts'

/** Returns the parties of local days of a site, without names, by tee time (null is last). */
export async function partiesOf(sql: Sql, siteId: string, { from = '', to = '~' }): Promise<Party[]> {
  const date = `${JSON_BODY} ->> 'date'`
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM entity WHERE site_id = $1 AND entity_table = 'party' AND body IS NOT NULL
       AND ${date} >= $2 AND ${date} <= $3`,
    [siteId, from, to],
  )
  const orderOf = ({ tee_time, created_at }: Party) => `${tee_time ?? '~'} ${created_at}`
  return rows
    .flatMap(({ body }) => replicatedPartySchema.safeParse(JSON.parse(body).body).data ?? [])
    .flatMap((party) => readParty(party) ?? [])
    .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}
