import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { Sql } from '#hub/store/database/database.ts'
import { checkCourse } from './course-check.ts'
import { checkCursors } from './cursor-check.ts'
import { SyncFindings } from './findings.ts'
import { checkRows } from './row-check.ts'
import { checkBlocks, checkTelemetry, type HubSite, readGaps } from './telemetry-check.ts'
import type { SyncTraffic } from './traffic.ts'

/** Gateway, with the devices that know what they sent to it. */
export interface JudgedGateway {
  siteId: string
  dataDir: string
  traffic: Pick<SyncTraffic, 'client' | 'expected' | 'hardwareIds' | 'locks'>
  isRestored?: boolean
}

/** Compares all the hub's data of a site with its gateway; only while nothing is in transit. */
export async function judgeSync(sql: Sql, gateway: JudgedGateway): Promise<SyncFindings> {
  const { siteId, dataDir, traffic, isRestored = false } = gateway
  const site: HubSite = { sql, siteId }
  const findings = new SyncFindings()
  const gaps = await readGaps(site, findings)
  await checkTelemetry(site, { ...traffic, isRestored }, gaps, findings)
  await checkBlocks(site, findings)
  await checkCourse(site, traffic.client, findings)
  const db = new BetterSqlite3(join(dataDir, 'cartbarn.db'), { readonly: true })
  try {
    await checkRows(site, db, isRestored, findings)
    await checkCursors(site, db, findings)
  } finally {
    db.close()
  }
  const { missing, twice } = await traffic.locks.check({
    lockEventCodes: (hardwareId) => readLockCodes(site, hardwareId),
  })
  findings.note('lockEventsLost', `${missing} acknowledged lock events`, missing)
  findings.note('events', `${twice} lock events are stored twice`, twice)
  return findings
}

async function readLockCodes({ sql, siteId }: HubSite, hardwareId: string): Promise<string[]> {
  const rows = await sql.all<{ body: string }>(
    `SELECT body FROM event WHERE site_id = $1 AND stream = 'lock_events' AND hardware_id = $2`,
    [siteId, hardwareId],
  )
  return rows.flatMap(({ body }) => JSON.parse(body).code ?? [])
}
