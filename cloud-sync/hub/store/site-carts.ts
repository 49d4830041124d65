import type { Sql } from './database/database.ts'

/** Latest state of a device and its report on its cart, both as JSON. */
export interface CartDeviceRow {
  body: string
  /** Null if its gateway reports none. */
  cartReport: string | null
}

/** Returns all devices of a site, by hardware id. */
export function cartDevicesOf(sql: Sql, siteId: string): Promise<CartDeviceRow[]> {
  return sql.all(`SELECT body, cart_said AS "cartReport" FROM site_latest WHERE site_id = $1 ORDER BY hardware_id`, [
    siteId,
  ])
}

/** Returns the staff notes on carts of a site, as JSON, by the cart's key. */
export function cartNotesOf(sql: Sql, siteId: string): Promise<{ key: string; body: string }[]> {
  return sql.all(
    `SELECT entity_key AS "key", body FROM entity
      WHERE site_id = $1 AND entity_table = 'cart_note' AND body IS NOT NULL ORDER BY entity_key`,
    [siteId],
  )
}
