import { isDeepStrictEqual } from 'node:util'
import type { ApiClient } from '#shared/client.ts'
import type { SyncFindings } from './findings.ts'
import type { HubSite } from './telemetry-check.ts'

/** Fields that change automatically, or are corrected some minutes later. */
const SLOW: readonly string[] = ['name', 'updated_at']
/** Maximum number of registered devices. */
const LIMIT = 1000

/** Compares the states of all devices with those the gateway reports; some seconds after the last change. */
export async function checkLatest({ sql, siteId }: HubSite, client: ApiClient, findings: SyncFindings): Promise<void> {
  const { devices } = await client.call('GET /devices', { query: { limit: LIMIT } })
  const rows = await sql.all<{ hardwareId: string; body: string }>(
    'SELECT hardware_id AS "hardwareId", body FROM site_latest WHERE site_id = $1',
    [siteId],
  )
  const there = new Map(rows.map(({ hardwareId, body }) => [hardwareId, JSON.parse(body)]))
  for (const device of devices) {
    const state: Record<string, unknown> | undefined = there.get(device.hardware_id)
    there.delete(device.hardware_id)
    const different = Object.entries(device).filter(
      ([name, value]) => !SLOW.includes(name) && !isDeepStrictEqual(state?.[name], value),
    )
    for (const [name, value] of different) {
      const both = `${JSON.stringify(state?.[name])} for ${JSON.stringify(value)}`
      findings.note('states', `${name} of ${device.hardware_id}: ${both}`)
    }
  }
  for (const hardwareId of there.keys()) findings.note('states', `${hardwareId} is not registered`)
}
