import { type MaskedCode, readMaskedCode } from '#shared/masked-codes.ts'
import type { Registration } from '#shared/registrations.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { JSON_BODY, type Sql, type SqlValue } from './database/database.ts'

interface EventPage {
  readonly hardwareId: string | undefined
  /** Only events of this registration of the device. */
  readonly registration: Registration | undefined
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  /** Required values of fields of the row. */
  readonly fields: Readonly<Record<string, string | number | undefined>>
  /** Selects events whose code is shown in this form to users for whom codes are masked. */
  readonly maskedCode?: string | undefined
  readonly order: ListOrder
  /** Selects events older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
  readonly offset: number
}

/**
 * Lists lock or geofence events of a site as the gateway sent them; null if there is no event `before`. Among equal
 * times the order is that of storing, as at the gateway. Field names are constants, never from a caller.
 */
export async function listSiteEvents(
  sql: Sql,
  siteId: string,
  stream: 'lock_events' | 'geofence_events',
  page: EventPage,
): Promise<Record<string, unknown>[] | null> {
  const values: SqlValue[] = [siteId, stream]
  const conditions = ['site_id = $1', 'stream = $2']
  const require = (sqlText: string, value: string | number | undefined): void => {
    if (value === undefined) return
    values.push(value)
    conditions.push(`${sqlText} $${values.length}`)
  }
  require('hardware_id =', page.hardwareId)
  if (page.registration !== undefined) {
    values.push(page.registration.shortId, page.registration.sinceMs)
    const [shortId, since] = [values.length - 1, values.length]
    conditions.push(`coalesce(${JSON_BODY} ->> 'short_id' = $${shortId}, at_ms >= $${since})`)
  }
  require('at_ms >=', page.fromMs)
  require('at_ms <=', page.toMs)
  for (const [name, value] of Object.entries(page.fields))
    require(`${JSON_BODY} ->> '${name}' =`, value === undefined ? undefined : String(value))
  if (page.maskedCode !== undefined) {
    const masked = readMaskedCode(page.maskedCode)
    // a text that is not a mask matches no code
    conditions.push(`${JSON_BODY} ->> 'code' LIKE $${values.push(masked === null ? '' : patternOf(masked))}`)
  }
  if (page.before !== undefined) {
    const found = await sql.get<{ at_ms: number; seq: number }>(
      'SELECT at_ms, COALESCE(seq, 0) AS seq FROM event WHERE site_id = $1 AND stream = $2 AND event_id = $3',
      [siteId, stream, page.before],
    )
    if (found === undefined) return null
    values.push(found.at_ms, found.seq, page.before)
    const [at, seq, id] = [values.length - 2, values.length - 1, values.length]
    conditions.push(`(at_ms, COALESCE(seq, 0), event_id) < ($${at}, $${seq}, $${id})`)
  }
  values.push(page.limit, page.offset)
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM event WHERE ${conditions.join(' AND ')}
     ORDER BY at_ms ${page.order}, COALESCE(seq, 0) ${page.order}, event_id ${page.order}
     LIMIT $${values.length - 1} OFFSET $${values.length}`,
    values,
  )
  return rows.map(({ body }) => JSON.parse(body))
}

function patternOf({ hidden, last }: MaskedCode): string {
  return '_'.repeat(hidden) + last.map((character) => character.replace(/[%_\\]/, '\\$&')).join('')
}
