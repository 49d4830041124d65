import type { Connection } from './db/connection.ts'

/** Something that a webhook or a notifier is still to be told; what it is lies in its body. */
export interface DeliveryRow {
  /** In the order in which they were queued. */
  seq: number
  /** The same at a retry. */
  deliveryId: string
  targetId: string
  /** Null for a test. */
  alertId: string | null
  queuedAtMs: number
}

/** Queues a test. */
export function insertTest(
  connection: Connection,
  {
    deliveryId,
    targetId,
    body,
    nowMs,
  }: { deliveryId: string; targetId: string; body: string; nowMs: number },
): void {
  connection.run(
    'INSERT INTO delivery (delivery_id, target_id, alert_id, body, queued_at_ms) VALUES (?, ?, NULL, ?, ?)',
    ...[deliveryId, targetId, body, nowMs],
  )
}

/** Queues the same for many targets, in their order. */
export function insertDeliveries(
  connection: Connection,
  targetIds: readonly string[],
  { alertId, body, nowMs }: { alertId: string; body: string; nowMs: number },
): void {
  connection.run(
    `INSERT INTO delivery (delivery_id, target_id, alert_id, body, queued_at_ms)
     SELECT lower(hex(randomblob(16))), value, ?, ?, ? FROM json_each(?)`,
    ...[alertId, body, nowMs, JSON.stringify(targetIds)],
  )
}

/** A page of what was queued after another, in order. */
export function listDeliveries(connection: Connection, afterSeq: number, limit: number): DeliveryRow[] {
  return connection.all<DeliveryRow>(
    `SELECT seq, delivery_id AS deliveryId, target_id AS targetId, alert_id AS alertId, queued_at_ms AS queuedAtMs
     FROM delivery WHERE seq > ? ORDER BY seq LIMIT ?`,
    ...[afterSeq, limit],
  )
}

/** What was queued for one target, up to a seq, in order. */
export function deliveriesOfTarget(
  connection: Connection,
  targetId: string,
  untilSeq: number,
): DeliveryRow[] {
  return connection.all<DeliveryRow>(
    `SELECT seq, delivery_id AS deliveryId, target_id AS targetId, alert_id AS alertId, queued_at_ms AS queuedAtMs
     FROM delivery WHERE target_id = ? AND seq <= ? ORDER BY seq`,
    ...[targetId, untilSeq],
  )
}

/** The bodies of deliveries, by seq; without those that there is nothing to tell of any more. */
export function deliveryBodies(connection: Connection, seqs: readonly number[]): Map<number, string> {
  const rows = connection.all<{ seq: number; body: string }>(
    `SELECT seq, body FROM delivery WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq`,
    JSON.stringify(seqs),
  )
  return new Map(rows.map(({ seq, body }) => [seq, body]))
}

/** What is still to be told of an alert, by seq. */
export function deliveriesOfAlert(connection: Connection, alertId: string): Set<number> {
  const rows = connection.all<{ seq: number }>(
    'SELECT seq FROM delivery WHERE alert_id = ? ORDER BY seq',
    alertId,
  )
  return new Set(rows.map(({ seq }) => seq))
}

/** How it went with a target. */
export interface TargetOutcome {
  targetId: string
  lastSuccessAtMs: number | null
  lastError: string | null
}

export interface SettledDeliveries {
  /** Told, or given up. */
  seqs: readonly number[]
  outcomes: readonly TargetOutcome[]
}

export function settleDeliveries(connection: Connection, { seqs, outcomes }: SettledDeliveries): null {
  for (const seq of seqs) connection.run('DELETE FROM delivery WHERE seq = ?', seq)
  // an id is that of one of them only
  for (const { targetId, lastSuccessAtMs, lastError } of outcomes)
    for (const [table, id] of [
      ['webhook', 'webhook_id'],
      ['notifier', 'notifier_id'],
    ])
      connection.run(
        `UPDATE ${table} SET last_success_at_ms = ?, last_error = ? WHERE ${id} = ?`,
        ...[lastSuccessAtMs, lastError, targetId],
      )
  return null
}

/** Of a target that there is no more. */
export function deleteDeliveriesOf(connection: Connection, targetId: string): void {
  connection.run('DELETE FROM delivery WHERE target_id = ?', targetId)
}
