import type { PartLimits, StreamPart } from '#shared/sync-source.ts'
import { encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { type DeviceBlock, encodeBlocks } from '#shared/telemetry/blocks.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { TimeRange } from '../telemetry/reader.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { entitiesOf, sentEntity } from './entities.ts'
import { type EventPlace, type EventRange, type EventStream, eventsOfDay, sentEvent } from './events.ts'
import { BLOCK_HEAD_BYTES } from './history-part.ts'
import { RowsPart } from './part.ts'

/** Rows to send again, regardless of acknowledgements, with the position of the next batch; null at the end. */
export interface ResentPart<Place> {
  readonly part: StreamPart | null
  readonly next: Place | null
}

const ROWS_A_STATEMENT = 256

/** Records of a device from blocks and log, as newly encoded blocks. */
export function resendTelemetry(
  tools: ReaderTools,
  request: TimeRange & { kind: 'gps' | 'battery'; hardwareId: string; limits: PartLimits },
): ResentPart<number> {
  const device = tools.connection.get<{ deviceId: number }>(
    'SELECT device_id FROM device WHERE hardware_id = ?',
    request.hardwareId,
  )
  if (device === undefined) return { part: null, next: null }
  if (request.kind === 'gps') return resendRecords(tools, GPS, device.deviceId, request)
  return resendRecords(tools, BATTERY, device.deviceId, request)
}

function resendRecords<R extends Records>(
  { telemetry }: ReaderTools,
  kind: RecordKind<R>,
  deviceId: number,
  request: TimeRange & { hardwareId: string; limits: PartLimits },
): ResentPart<number> {
  const { hardwareId, limits, fromMs, toMs } = request
  const blocks: DeviceBlock[] = []
  let next: number | null = fromMs
  let [bytes, count] = [0, 0]
  let oldestMs: number | null = null
  while (next !== null && count < limits.rows) {
    const limit = Math.min(MAX_BLOCK_RECORDS, limits.rows - count)
    const records: R = telemetry.page(kind, deviceId, { fromMs: next, toMs, order: 'asc', limit })
    const lastMs: number | undefined = records.atMs.at(-1)
    if (lastMs === undefined) {
      next = null
      break
    }
    const block = encodeBlock(kind, records)
    bytes += BLOCK_HEAD_BYTES + block.length
    if (bytes > limits.bytes && blocks.length > 0) break
    blocks.push({ hardwareId, block })
    count += records.atMs.length
    oldestMs ??= records.atMs[0] ?? null
    next = lastMs < toMs ? lastMs + 1 : null
  }
  if (count === 0) return { part: null, next: null }
  return { part: { to: 0, count, encoding: 'blocks-1', data: encodeBlocks(blocks), oldestMs }, next }
}

/** Rows of a day and a group. */
export function resendEvents(
  { connection }: ReaderTools,
  request: Omit<EventRange, 'limit'> & { stream: EventStream; limits: PartLimits },
): ResentPart<EventPlace> {
  const part = new RowsPart(request.limits)
  let { after } = request
  for (;;) {
    const events = eventsOfDay(connection, request.stream, { ...request, after, limit: ROWS_A_STATEMENT })
    for (const event of events) {
      if (!part.add(sentEvent(event))) return { part: part.finish(0), next: after }
      after = { atMs: event.atMs, seq: event.seq }
    }
    if (events.length < ROWS_A_STATEMENT) return { part: part.finish(0), next: null }
  }
}

/** Rows of a table, and the keys of deleted ones. */
export function resendEntities(
  { connection }: ReaderTools,
  request: { table: string; after: string; limits: PartLimits },
): ResentPart<string> {
  const part = new RowsPart(request.limits)
  let { after } = request
  for (;;) {
    let read = 0
    for (const entity of entitiesOf(connection, request.table, after, ROWS_A_STATEMENT)) {
      if (!part.add(sentEntity(entity))) return { part: part.finish(0), next: after }
      after = entity.key
      read++
    }
    if (read < ROWS_A_STATEMENT) return { part: part.finish(0), next: null }
  }
}
