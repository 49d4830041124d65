import type { Sql } from '#hub/store/database/database.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { type ApiClient, ApiError } from '#shared/client.ts'
import { batteryTexts, gpsTexts } from '#shared/history/text.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { decodeBlock, MAX_BLOCK_RECORDS, verifyBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { type Gap, gapSchema } from '#shared/wire/replication/sync.ts'
import type { ExpectedHistory, Place } from '../history/expected-history.ts'
import type { ListedRecord } from '../history/records.ts'
import type { SyncFindings } from './findings.ts'

/** Site whose records at a hub are checked. */
export interface HubSite {
  sql: Sql
  siteId: string
}

const EVER = { fromMs: -8_640_000_000_000_000, toMs: 8_640_000_000_000_000 }
const EVER_LISTED = { from: '2020-01-01T00:00:00Z', to: '2099-12-31T00:00:00Z' }
const STREAMS = ['gps', 'battery'] as const

/** Values of records by time, each as one text. */
type RecordValues = Map<number, string>

/** Telemetry of a site as the gateway and the sending devices know it. */
export interface KnownTelemetry {
  client: ApiClient
  /** Hardware ids by the devices' numbers in `expected`. */
  hardwareIds: readonly string[]
  expected: ExpectedHistory
  /** A gateway from a backup lacks what it had after it: then only what it has is compared. */
  isRestored?: boolean
}

/** Compares all records of a site with those of its gateway and with the records acknowledged to devices. */
export async function checkTelemetry(
  site: HubSite,
  known: KnownTelemetry,
  gaps: readonly Gap[],
  findings: SyncFindings,
): Promise<void> {
  const { client, hardwareIds, expected } = known
  // an erasure concerns the data, a purge only the gateway's disk
  const hub: Place = {
    isDeletedBy: ({ device }) => device !== null,
    isExcused: (device, stream, atMs) => isCovered(gaps, hardwareIds[device] ?? '', stream, atMs),
  }
  for (const [device, hardwareId] of hardwareIds.entries()) {
    for (const stream of STREAMS) {
      const there = await readHub(site, hardwareId, stream)
      const here = valuesOf(await listRecords(client, hardwareId, stream))
      findings.compared.records += there.size
      const at = (atMs: number) => `${stream} of ${hardwareId} at ${new Date(atMs).toISOString()}`
      for (const [atMs, values] of here) {
        const copy = there.get(atMs)
        if (copy === undefined) findings.note('lacking', at(atMs))
        else if (copy !== values) findings.note('different', `${at(atMs)}: ${copy} instead of ${values}`)
      }
      for (const atMs of there.keys()) {
        if (here.has(atMs) || known.isRestored === true || expected.wasPurged(stream, atMs)) continue
        findings.note('surplus', at(atMs))
      }
      const judged = expected.judge(device, stream, there.keys(), hub)
      const example = judged.examples.join(', ')
      findings.note('lost', example, judged.missing)
      findings.note('returned', example, judged.returned)
      if (known.isRestored !== true) findings.note('surplus', example, judged.unknown)
      findings.compared.excused += judged.excused
    }
  }
}

/** Checks every block of a site for duplicate records and wrong counts. */
export async function checkBlocks({ sql, siteId }: HubSite, findings: SyncFindings): Promise<void> {
  const rows = await sql.all<{
    hardwareId: string
    stream: TelemetryStream
    firstMs: number
    lastMs: number
    recordCount: number
    body: Uint8Array
  }>(
    `SELECT hardware_id AS "hardwareId", stream, first_ms AS "firstMs", last_ms AS "lastMs",
       record_count AS "recordCount", body
     FROM telemetry_block WHERE site_id = $1 ORDER BY hardware_id, stream, last_ms, first_ms`,
    [siteId],
  )
  const seen = new Map<string, Set<number>>()
  for (const { hardwareId, stream, firstMs, lastMs, recordCount, body } of rows) {
    const name = `block of ${stream} of ${hardwareId} from ${firstMs}`
    const key = `${hardwareId} ${stream}`
    const times = seen.get(key) ?? new Set()
    seen.set(key, times)
    findings.compared.blocks++
    try {
      const header = verifyBlock(body)
      if (header.count !== recordCount || header.firstMs !== firstMs || header.lastMs !== lastMs)
        findings.note('damaged', `${name} differs from its row`)
      for (const atMs of timesOf(stream, body)) {
        if (times.has(atMs)) findings.note('twice', `${name}: ${new Date(atMs).toISOString()}`)
        times.add(atMs)
      }
    } catch (error) {
      findings.note('damaged', `${name}: ${String(error)}`)
    }
  }
}

async function readHub({ sql, siteId }: HubSite, hardwareId: string, stream: TelemetryStream): Promise<RecordValues> {
  const device = { siteId, hardwareId }
  const owner = { hardwareId, shortId: '' }
  const texts =
    stream === 'gps'
      ? gpsTexts('ndjson', owner, await readTelemetry(sql, GPS, device, EVER), 'asc', null)
      : batteryTexts('ndjson', owner, await readTelemetry(sql, BATTERY, device, EVER), 'asc')
  return valuesOf(texts.map((text): ListedRecord => JSON.parse(text)))
}

/** Reads all records of a stream of a device over the API of a gateway; none if the device is not registered. */
export async function listRecords(gateway: ApiClient, id: string, stream: TelemetryStream): Promise<ListedRecord[]> {
  try {
    return await gateway.call(`GET /devices/{id}/${stream}`, { path: { id }, query: EVER_LISTED })
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

function valuesOf(records: readonly ListedRecord[]): RecordValues {
  return new Map(
    records.map(({ timestamp, lat, long, speed, battery_voltage }) => [
      Date.parse(timestamp),
      [lat, long, speed, battery_voltage].join(' ').trim(),
    ]),
  )
}

/** A gap names at most this many devices; one with more may be of any device. */
const MAX_NAMED = 100

/** Reads the losses that a gateway reported to its hub; the hub's row for each must agree. */
export async function readGaps({ sql, siteId }: HubSite, findings: SyncFindings): Promise<Gap[]> {
  const notes = await sql.all<{ noteId: string; body: string }>(
    `SELECT event_id AS "noteId", body FROM event WHERE site_id = $1 AND stream = 'notes'`,
    [siteId],
  )
  const rows = await sql.all<Record<'noteId' | 'stream', string> & Record<'fromMs' | 'toMs' | 'rowCount', number>>(
    `SELECT note_id AS "noteId", stream, from_ms AS "fromMs", to_ms AS "toMs", row_count AS "rowCount"
     FROM gap WHERE site_id = $1`,
    [siteId],
  )
  const byId = new Map(rows.map(({ noteId, ...row }) => [noteId, JSON.stringify(row)]))
  const gaps: Gap[] = []
  for (const { noteId, body } of notes) {
    const note: { kind: string; body: unknown } = JSON.parse(body)
    if (note.kind !== 'gap') continue
    const gap = gapSchema.parse(note.body)
    gaps.push(gap)
    const { stream, from_ms: fromMs, to_ms: toMs, count: rowCount } = gap
    if (byId.get(noteId) !== JSON.stringify({ stream, fromMs, toMs, rowCount }))
      findings.note('counts', `gap ${noteId} differs from the reported one`)
  }
  if (rows.length !== gaps.length)
    findings.note('counts', `${rows.length} gaps at the hub, ${gaps.length} were reported`)
  return gaps
}

/** True if a record of that time may be missing. */
function isCovered(gaps: readonly Gap[], hardwareId: string, stream: TelemetryStream, atMs: number): boolean {
  return gaps.some((gap) => {
    const isOfDevice = gap.hardware_ids.length >= MAX_NAMED || gap.hardware_ids.includes(hardwareId)
    return gap.stream === stream && isOfDevice && gap.from_ms <= atMs && atMs <= gap.to_ms
  })
}

/** Times of the records of a block. Throws if it is damaged. */
function timesOf(stream: TelemetryStream, block: Uint8Array): Float64Array {
  return stream === 'gps' ? readTimes(GPS, block) : readTimes(BATTERY, block)
}

function readTimes<R extends Records>(kind: RecordKind<R>, block: Uint8Array): Float64Array {
  const into = kind.allocate(MAX_BLOCK_RECORDS)
  return into.atMs.subarray(0, decodeBlock(kind, block, into))
}
