import { RowHashSum } from '#shared/sync-hash.ts'
import { addRecords } from '#shared/telemetry/record-sum.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import type { AuditGroup } from '#shared/wire/replication/sync.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { type EntityTable, entityIdentity, liveEntities } from './entities.ts'
import { type EventPlace, type EventStream, eventsOfDay } from './events.ts'

/** Checksums of some groups, with the position of the next page; null at the end. */
export interface AuditPage<Place> {
  readonly groups: readonly AuditGroup[]
  readonly after: Place | null
}

/** Approximate maximum duration of a page. */
const PORTION_MS = 50
const DEVICES_A_STATEMENT = 64
const EVENTS_A_PORTION = 4096
const ENTITIES_A_PORTION = 1024
/** Low, because chunks are large. */
const PIECES_A_PORTION = 16

interface DeviceName {
  deviceId: number
  hardwareId: string
}

/** Records of a day of some devices, in blocks and log; devices without records are left out. */
export function auditTelemetry(
  tools: ReaderTools,
  request: { kind: 'gps' | 'battery'; dayMs: number; after: number },
): AuditPage<number> {
  const endsAtMs = performance.now() + PORTION_MS
  const devices = tools.connection.all<DeviceName>(
    `SELECT device_id, hardware_id FROM device
     WHERE device_id > +? ORDER BY device_id LIMIT ${DEVICES_A_STATEMENT}`,
    request.after,
  )
  const groups: AuditGroup[] = []
  for (const { deviceId, hardwareId } of devices) {
    const sum = new RowHashSum()
    const throughMs =
      request.kind === 'gps'
        ? addDay(tools, GPS, deviceId, request.dayMs, sum)
        : addDay(tools, BATTERY, deviceId, request.dayMs, sum)
    addGroup(groups, hardwareId, sum, throughMs)
    if (performance.now() >= endsAtMs) return { groups, after: deviceId }
  }
  const isEnd = devices.length < DEVICES_A_STATEMENT
  return { groups, after: isEnd ? null : (devices.at(-1)?.deviceId ?? null) }
}

/** Returns the time of the newest record; undefined if none exists. */
function addDay<R extends Records>(
  { telemetry }: ReaderTools,
  kind: RecordKind<R>,
  deviceId: number,
  dayMs: number,
  sum: RowHashSum,
): number | undefined {
  const range = { fromMs: dayMs, toMs: dayMs + DAY_MS - 1 }
  const { records, count } = telemetry.read(kind, deviceId, range, (room) => kind.allocate(room))
  addRecords(sum, kind, records, 0, count)
  return count === 0 ? undefined : records.atMs[count - 1]
}

/** Rows of a day by device; a device may be in several pages. */
export function auditEvents(
  { connection }: ReaderTools,
  { stream, dayMs, after }: { stream: EventStream; dayMs: number; after: EventPlace | null },
): AuditPage<EventPlace> {
  const range = { fromMs: dayMs, toMs: dayMs + DAY_MS - 1, group: null, after, limit: EVENTS_A_PORTION }
  const events = eventsOfDay(connection, stream, range)
  const sums = new Map<string, { sum: RowHashSum; throughMs: number }>()
  for (const { group, text, atMs } of events) {
    const { sum } = sums.get(group) ?? { sum: new RowHashSum() }
    sum.addText(text)
    // rows are in order of time
    sums.set(group, { sum, throughMs: atMs })
  }
  const groups: AuditGroup[] = []
  for (const [group, { sum, throughMs }] of sums) addGroup(groups, group, sum, throughMs)
  return { groups, after: events.length < EVENTS_A_PORTION ? null : (events.at(-1) ?? null) }
}

/** Current rows of a table. */
export function auditEntities(
  { connection }: ReaderTools,
  { table, after }: { table: EntityTable; after: number },
): AuditPage<number> {
  const most = table === 'course_piece' ? PIECES_A_PORTION : ENTITIES_A_PORTION
  const entities = liveEntities(connection, table, after, most)
  const sum = new RowHashSum()
  for (const entity of entities) sum.addText(entityIdentity(table, entity))
  const groups: AuditGroup[] = []
  addGroup(groups, table, sum)
  return { groups, after: entities.length < most ? null : (entities.at(-1)?.rowId ?? null) }
}

function addGroup(groups: AuditGroup[], group: string, sum: RowHashSum, throughMs?: number): void {
  if (sum.count === 0) return
  const through = throughMs === undefined ? {} : { through_ms: throughMs }
  groups.push({ group, count: sum.count, sum: sum.toString(), ...through })
}
