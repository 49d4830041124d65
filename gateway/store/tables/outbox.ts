import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const deliveryTable = table('delivery', {
  care: {
    what: 'the queued deliveries to webhooks and notifiers',
    meaning: 'Missing deliveries are not sent; their alerts are still listed.',
  },
  json: {
    targets: { type: 'object', cure: 'delete' },
    body: { type: 'object', cure: 'delete' },
  },
})

/** Queued delivery, without its body. */
export interface DeliveryRow {
  /** Position in the queue. */
  seq: number
  /** Null for a test. */
  alertId: string | null
  queuedAtMs: number
}

/** Queued delivery with the webhooks or notifiers that have not received it. */
export interface QueuedDelivery extends DeliveryRow {
  targetIds: string[]
}

type StoredDelivery = DeliveryRow & { targetsJson: string }

const COLUMNS = 'seq, alert_id, queued_at_ms'

/** Content of a delivery for one target. */
export interface DeliveryText {
  /** Unique for this target, and the same on each retry. */
  deliveryId: string
  body: string
}

export function insertTest(
  connection: Connection,
  { deliveryId, targetId, body, nowMs }: { deliveryId: string; targetId: string; body: string; nowMs: number },
): void {
  connection.run(
    'INSERT INTO delivery (alert_id, queued_at_ms, targets, body) VALUES (NULL, ?, json_object(?, ?), ?)',
    nowMs,
    targetId,
    deliveryId,
    body,
  )
}

/** Queues one body for many targets, in their order. */
export function insertDeliveries(
  connection: Connection,
  targetIds: readonly string[],
  { alertId, body, nowMs }: { alertId: string; body: string; nowMs: number },
): void {
  connection.run(
    `INSERT INTO delivery (alert_id, queued_at_ms, targets, body)
     SELECT ?, ?, json_group_object(value, lower(hex(randomblob(16)))), ? FROM json_each(?)`,
    alertId,
    nowMs,
    body,
    JSON.stringify(targetIds),
  )
}

/** Page of deliveries queued after `afterSeq`, in order. */
export function listDeliveries(connection: Connection, afterSeq: number, limit: number): QueuedDelivery[] {
  return connection
    .all<StoredDelivery>(
      `SELECT ${COLUMNS}, targets AS targetsJson FROM delivery WHERE seq > ? ORDER BY seq LIMIT ?`,
      afterSeq,
      limit,
    )
    .map(toQueued)
}

/** Pending deliveries of an alert, in order. */
export function deliveriesOfAlert(connection: Connection, alertId: string): QueuedDelivery[] {
  return connection
    .all<StoredDelivery>(
      `SELECT ${COLUMNS}, targets AS targetsJson FROM delivery WHERE alert_id = ? ORDER BY seq`,
      alertId,
    )
    .map(toQueued)
}

/** True if the bound target is one of a row's targets. */
const IS_TARGET = 'targets ->> ? IS NOT NULL'

/** Pending deliveries of one target up to a seq, in order. */
export function deliveriesOfTarget(connection: Connection, targetId: string, untilSeq: number): DeliveryRow[] {
  return connection.all<DeliveryRow>(
    `SELECT ${COLUMNS} FROM delivery WHERE ${IS_TARGET} AND seq <= ? ORDER BY seq`,
    targetId,
    untilSeq,
  )
}

/** Content of deliveries for a target, keyed by seq; deliveries without this target are left out. */
export function deliveryTexts(
  connection: Connection,
  targetId: string,
  seqs: readonly number[],
): Map<number, DeliveryText> {
  const rows = connection.all<DeliveryText & { seq: number }>(
    `SELECT seq, targets ->> ? AS deliveryId, body FROM delivery
     WHERE seq IN (SELECT value FROM json_each(?)) AND ${IS_TARGET} ORDER BY seq`,
    targetId,
    JSON.stringify(seqs),
    targetId,
  )
  return new Map(rows.map(({ seq, ...text }) => [seq, text]))
}

/** Cancels the pending deliveries of an alert to the targets that `isForgotten` returns true for. */
export function forgetDeliveries(
  connection: Connection,
  alertId: string,
  isForgotten: (targetId: string, queuedAtMs: number) => boolean,
): void {
  for (const { seq, targetIds, queuedAtMs } of deliveriesOfAlert(connection, alertId)) {
    const forgotten = targetIds.filter((targetId) => isForgotten(targetId, queuedAtMs))
    if (forgotten.length > 0) takeOut(connection, seq, forgotten)
  }
}

/** Result of the last delivery to a target. */
export interface TargetOutcome {
  targetId: string
  lastSuccessAtMs: number | null
  lastError: string | null
}

export interface SettledDeliveries {
  /** Deliveries that succeeded or were given up. */
  settled: readonly { seq: number; targetId: string }[]
  outcomes: readonly TargetOutcome[]
}

export const settleDeliveries = write(
  (connection: Connection, { settled, outcomes }: SettledDeliveries): null => {
    const bySeq = Map.groupBy(settled, ({ seq }) => seq)
    for (const [seq, ends] of bySeq)
      takeOut(
        connection,
        seq,
        ends.map(({ targetId }) => targetId),
      )
    // an id belongs to only one of the two tables
    for (const { targetId, lastSuccessAtMs, lastError } of outcomes)
      for (const [table, id] of [
        ['webhook', 'webhook_id'],
        ['notifier', 'notifier_id'],
      ])
        connection.run(
          `UPDATE ${table} SET last_success_at_ms = ?, last_error = ? WHERE ${id} = ?`,
          lastSuccessAtMs,
          lastError,
          targetId,
        )
    return null
  },
  { audit: null },
)

/** Deletes the pending deliveries of a deleted target. */
export function deleteDeliveriesOf(connection: Connection, targetId: string): void {
  connection.run(
    `UPDATE delivery SET targets = json_remove(targets, '$."' || ? || '"') WHERE ${IS_TARGET}`,
    targetId,
    targetId,
  )
  connection.run("DELETE FROM delivery WHERE targets = '{}'")
}

/** Removes targets from a delivery; the last one deletes its row. */
function takeOut(connection: Connection, seq: number, targetIds: readonly string[]): void {
  connection.run(
    `UPDATE delivery SET targets = (
       SELECT json_group_object(key, value) FROM json_each(delivery.targets)
       WHERE key NOT IN (SELECT value FROM json_each(?)))
     WHERE seq = ?`,
    JSON.stringify(targetIds),
    seq,
  )
  connection.run("DELETE FROM delivery WHERE seq = ? AND targets = '{}'", seq)
}

function toQueued({ targetsJson, ...row }: StoredDelivery): QueuedDelivery {
  return { ...row, targetIds: Object.keys(JSON.parse(targetsJson)) }
}
