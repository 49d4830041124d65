import type { Sql } from '#hub/store/database/database.ts'
import { type DevicePlace, devicesAfter, type SiteDeviceQuery, type SiteDeviceRow } from '#hub/store/site-devices.ts'
import {
  type AttributeFilter,
  type AttributeValue,
  deviceSearch,
  isBatteryBelow,
  matchesAttributes,
} from '#shared/device-filter.ts'

export interface DeviceSearch extends SiteDeviceQuery {
  readonly search: string
  readonly attributes: readonly AttributeFilter[]
  /** In volts. */
  readonly batteryBelow: number | undefined
  readonly limit: number
  readonly offset: number
}

/** Maximum number of states that one query reads; other requests run between two queries. */
const PAGE_ROWS = 500

/** Returns the page of matching devices, by site and hardware id. Reads only as many devices as the page needs. */
export async function searchDevices(sql: Sql, query: DeviceSearch): Promise<SiteDeviceRow[]> {
  const isWanted = wanting(query)
  const found: SiteDeviceRow[] = []
  let left = query.offset
  let after: DevicePlace | null | undefined = null
  while (after !== undefined && found.length < query.limit) {
    const rows: SiteDeviceRow[] = await devicesAfter(sql, query, after, PAGE_ROWS)
    for (const row of rows) {
      if (!isWanted(row) || left-- > 0) continue
      found.push(row)
      if (found.length === query.limit) break
    }
    const last: SiteDeviceRow | undefined = rows.length < PAGE_ROWS ? undefined : rows.at(-1)
    after = last === undefined ? undefined : { siteId: last.site_id, hardwareId: last.hardware_id }
  }
  return found
}

function wanting({ search, attributes, batteryBelow }: DeviceSearch): (row: SiteDeviceRow) => boolean {
  if (search === '' && attributes.length === 0 && batteryBelow === undefined) return () => true
  const isFound = deviceSearch(search)
  return ({ hardware_id, body }) => {
    const device: Record<string, unknown> = JSON.parse(body)
    const names = {
      name: typeof device.name === 'string' ? device.name : null,
      hardwareId: hardware_id,
      shortId: typeof device.short_id === 'string' ? device.short_id : '',
    }
    const known = attributesOf(device.attributes)
    const isLow = batteryBelow === undefined || isBatteryBelow(known, batteryBelow)
    return isLow && isFound(names) && matchesAttributes(known, attributes)
  }
}

/** Returns the attributes of a device; none if its state has no valid ones. */
function attributesOf(value: unknown): Record<string, AttributeValue> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, AttributeValue] =>
      ['string', 'number', 'boolean'].includes(typeof entry[1]),
    ),
  )
}
