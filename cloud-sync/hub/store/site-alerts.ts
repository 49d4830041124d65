import type { AlertState } from '#shared/wire/alerts.ts'
import type { AlertBody } from '#shared/wire/replication/sync.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { JSON_BODY, type Sql, type SqlValue } from './database/database.ts'

/** Filters of a list; missing fields do not filter. */
export interface SiteAlertQuery {
  readonly state?: AlertState | undefined
  readonly kinds: readonly string[]
  readonly cart?: string | undefined
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
  readonly order: ListOrder
  readonly limit: number
  readonly offset: number
}

const field = (name: string) => `${JSON_BODY} ->> '${name}'`
const IN_STATE: Record<AlertState, string> = {
  open: `${field('closed_at_ms')} IS NULL AND ${field('acknowledged_at_ms')} IS NULL`,
  acknowledged: `${field('closed_at_ms')} IS NULL AND ${field('acknowledged_at_ms')} IS NOT NULL`,
  closed: `${field('closed_at_ms')} IS NOT NULL`,
}
const OPENED = `CAST(${field('opened_at_ms')} AS BIGINT)`

/** Lists alerts of a site as its gateway sent them, by the time they were opened. */
export async function listSiteAlerts(sql: Sql, siteId: string, query: SiteAlertQuery): Promise<AlertBody[]> {
  const { state, kinds, cart, fromMs, toMs, order, limit, offset } = query
  const values: SqlValue[] = [siteId]
  const put = (value: SqlValue) => `$${values.push(value)}`
  const conditions = [
    `site_id = $1 AND entity_table = 'alert' AND body IS NOT NULL`,
    `${field('kind')} = ANY(${put(kinds)})`,
    ...(state === undefined ? [] : [IN_STATE[state]]),
    ...(cart === undefined ? [] : [`${field('cart')} = ${put(cart)}`]),
    ...(fromMs === undefined ? [] : [`${OPENED} >= ${put(fromMs)}`]),
    ...(toMs === undefined ? [] : [`${OPENED} <= ${put(toMs)}`]),
  ]
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM entity WHERE ${conditions.map((one) => `(${one})`).join(' AND ')}
     ORDER BY ${OPENED} ${order}, entity_key ${order} LIMIT ${put(limit)} OFFSET ${put(offset)}`,
    values,
  )
  // rows are validated on arrival
  return rows.map(({ body }): AlertBody => JSON.parse(body))
}

/** Returns an alert of a site as its gateway sent it; undefined if it does not exist or was deleted. */
export async function siteAlertOf(sql: Sql, siteId: string, alertId: string): Promise<AlertBody | undefined> {
  const [row] = await sql.all<{ body: string }>(
    `SELECT body FROM entity
      WHERE site_id = $1 AND entity_table = 'alert' AND entity_key = $2 AND body IS NOT NULL`,
    [siteId, alertId],
  )
  return row && JSON.parse(row.body)
}

/** Lists the alerts of carts of a site that are not closed, oldest first. */
export function openCartAlerts(sql: Sql, siteId: string): Promise<{ alertId: string; cart: string }[]> {
  return sql.all(
    `SELECT entity_key AS "alertId", ${field('cart')} AS cart FROM entity
      WHERE site_id = $1 AND entity_table = 'alert' AND body IS NOT NULL
        AND ${field('closed_at_ms')} IS NULL AND ${field('cart')} IS NOT NULL
      ORDER BY ${OPENED}, entity_key`,
    [siteId],
  )
}
