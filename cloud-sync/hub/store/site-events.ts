import { JSON_BODY, type Sql, type SqlValue } from './database/database.ts'

interface EventPage {
  readonly hardwareId: string | undefined
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  /** Values that fields of the row must have. */
  readonly fields: Readonly<Record<string, string | number | undefined>>
  readonly limit: number
  readonly offset: number
}

/** Lock or geofence events of a site as the gateway sent them, newest first. Names of fields are ours, never a caller's. */
export async function listSiteEvents(
  sql: Sql,
  siteId: string,
  stream: 'lock_events' | 'geofence_events',
  page: EventPage,
): Promise<Record<string, unknown>[]> {
  const values: SqlValue[] = [siteId, stream]
  const conditions = ['site_id = $1', 'stream = $2']
  const require = (sqlText: string, value: string | number | undefined): void => {
    if (value === undefined) return
    values.push(value)
    conditions.push(`${sqlText} $${values.length}`)
  }
  require('hardware_id =', page.hardwareId)
  require('at_ms >=', page.fromMs)
  require('at_ms <=', page.toMs)
  for (const [name, value] of Object.entries(page.fields))
    require(`${JSON_BODY} ->> '${name}' =`, value === undefined ? undefined : String(value))
  values.push(page.limit, page.offset)
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM event WHERE ${conditions.join(' AND ')}
     ORDER BY at_ms DESC, event_id DESC LIMIT $${values.length - 1} OFFSET $${values.length}`,
    values,
  )
  return rows.map(({ body }) => JSON.parse(body))
}
