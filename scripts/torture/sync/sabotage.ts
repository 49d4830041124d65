import type { Database, Sql } from '#hub/store/database/database.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import type { SyncFault } from './findings.ts'
import { type JudgedGateway, judgeSync } from './judge.ts'
import { type HubSite, listRecords } from './telemetry-check.ts'

/** Way to damage a hub's data, and the finding that must result. */
export interface Sabotage {
  name: string
  noticedAs: readonly SyncFault[]
  /** Returns false if there was nothing to damage. */
  spoil(site: HubSite, traffic: Traffic): Promise<boolean>
}

type Traffic = JudgedGateway['traffic']

/** Damages that show that the checks notice. */
const SABOTAGES: readonly Sabotage[] = [
  { name: 'a lost block', noticedAs: ['lacking', 'lost'], spoil: loseBlock },
  { name: 'a record twice', noticedAs: ['twice'], spoil: addTwice },
  { name: 'a lost lock event', noticedAs: ['events'], spoil: loseEvent },
  { name: 'an older entity', noticedAs: ['entities'], spoil: ageEntity },
  { name: 'a lost piece of a photo', noticedAs: ['course'], spoil: losePiece },
]

/** Loses the blocks of a record that the gateway still has: the loss of others is by design. */
async function loseBlock({ sql, siteId }: HubSite, { client, hardwareIds }: Traffic): Promise<boolean> {
  for (const hardwareId of hardwareIds) {
    const [record] = await listRecords(client, hardwareId, 'gps')
    if (record === undefined) continue
    const lost = await sql.run(
      `DELETE FROM telemetry_block
       WHERE site_id = $1 AND hardware_id = $2 AND stream = 'gps' AND first_ms <= $3 AND last_ms >= $3`,
      [siteId, hardwareId, Date.parse(record.timestamp)],
    )
    if (lost > 0) return true
  }
  return (await sql.run('DELETE FROM segment WHERE site_id = $1', [siteId])) > 0
}

/** Adds two blocks of three records of a device that share one of them. */
async function addTwice({ sql, siteId }: HubSite, { hardwareIds }: Traffic): Promise<boolean> {
  const range = { fromMs: 0, toMs: Date.now(), limit: 3 }
  for (const hardwareId of hardwareIds) {
    const records = await readTelemetry(sql, GPS, { siteId, hardwareId }, range)
    if (records.atMs.length < 3) continue
    await addBlock(sql, siteId, hardwareId, GPS.view(records, 0, 2))
    await addBlock(sql, siteId, hardwareId, GPS.view(records, 1, 3))
    return true
  }
  return false
}

async function addBlock(sql: Sql, siteId: string, hardwareId: string, records: GpsRecords): Promise<void> {
  const { atMs } = records
  await sql.run(
    `INSERT INTO telemetry_block (site_id, hardware_id, stream, last_ms, first_ms, record_count, body)
     VALUES ($1, $2, 'gps', $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    [siteId, hardwareId, atMs.at(-1) ?? 0, atMs[0] ?? 0, atMs.length, encodeBlock(GPS, records)],
  )
}

async function loseEvent({ sql, siteId }: HubSite): Promise<boolean> {
  const deleted = await sql.run(
    `DELETE FROM event WHERE site_id = $1 AND stream = 'lock_events' AND event_id IN (
       SELECT event_id FROM event WHERE site_id = $1 AND stream = 'lock_events' LIMIT 1)`,
    [siteId],
  )
  return deleted > 0
}

async function ageEntity({ sql, siteId }: HubSite): Promise<boolean> {
  const entity = await sql.get<{ key: string; body: string }>(
    `SELECT entity_key AS key, body FROM entity
     WHERE site_id = $1 AND entity_table = 'device' AND body IS NOT NULL LIMIT 1`,
    [siteId],
  )
  if (entity === undefined) return false
  const body = JSON.stringify({ ...JSON.parse(entity.body), name: 'of another time' })
  const changed = await sql.run(
    `UPDATE entity SET body = $3 WHERE site_id = $1 AND entity_table = 'device' AND entity_key = $2`,
    [siteId, entity.key, body],
  )
  return changed > 0
}

async function losePiece({ sql, siteId }: HubSite): Promise<boolean> {
  const deleted = await sql.run(
    `DELETE FROM entity WHERE site_id = $1 AND entity_table = 'course_piece' AND entity_key IN (
       SELECT entity_key FROM entity
       WHERE site_id = $1 AND entity_table = 'course_piece' AND body IS NOT NULL LIMIT 1)`,
    [siteId],
  )
  return deleted > 0
}

class TakenBack extends Error {}

/** Damages the data of a hub in one way after the other, runs the checks and undoes it; returns what they missed. */
export async function findUnnoticed(database: Database, gateway: JudgedGateway): Promise<string[]> {
  const unnoticed: string[] = []
  for (const { name, noticedAs, spoil } of SABOTAGES) {
    const attempt = database.transaction(async (sql) => {
      const site = { sql, siteId: gateway.siteId }
      if (!(await spoil(site, gateway.traffic))) unnoticed.push(`${name}: nothing to damage`)
      else {
        const findings = await judgeSync(sql, gateway)
        if (noticedAs.every((fault) => findings.counts[fault] === 0)) unnoticed.push(name)
      }
      throw new TakenBack('taken back')
    })
    await attempt.catch((error: unknown) => {
      if (!(error instanceof TakenBack)) throw error
    })
  }
  return unnoticed
}
