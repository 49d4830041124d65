import type { CartCall } from '#domain/cart-call.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const cartCallTable = table('cart_call', {
  care: {
    what: 'the calls from carts',
    size: 'large',
    meaning: 'A call that a device sends again may count twice; one of the last second may have no alert.',
  },
  erases: { texts: ['text'] },
})

export interface NewCall extends CartCall {
  hardwareId: string
  /** Registration of the device. */
  shortId: string
  receivedAtMs: number
}

/** Stored call without an effect yet. */
export interface StoredCall extends Pick<CartCall, 'call' | 'callId' | 'text' | 'atMs'> {
  seq: number
  hardwareId: string
  receivedAtMs: number
  /** Alert of the call that a cancel withdraws; null for another call, or without one. */
  cancelledAlertId: string | null
}

/** Number of calls that one step reads, blanks or deletes. */
const STEP_ROWS = 500

/** Returns false for a call whose `identity`, with the registration, is stored already. */
export function insertCall(connection: Connection, call: NewCall, identity: string): boolean {
  const { hardwareId, call: kind, callId, text, atMs, receivedAtMs } = call
  const sql = `INSERT OR IGNORE INTO cart_call
    (hardware_id, identity, call, call_id, text, at_ms, received_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`
  return connection.run(sql, hardwareId, identity, kind, callId, text, atMs, receivedAtMs) > 0
}

/** Some calls without an effect yet, in the order of their receipt. */
export function newCalls(connection: Connection): StoredCall[] {
  return connection.all<StoredCall>(
    `SELECT seq, hardware_id, call, call_id, text, at_ms, received_at_ms,
       iif(call = 'cancel', (SELECT alert_id FROM cart_call earlier
         WHERE earlier.hardware_id = cart_call.hardware_id AND earlier.call_id = cart_call.call_id
           AND earlier.alert_id IS NOT NULL ORDER BY earlier.seq DESC LIMIT 1), NULL) AS cancelled_alert_id
     FROM cart_call WHERE is_new = 1 ORDER BY seq LIMIT ${STEP_ROWS}`,
  )
}

/** Time at which the first call of each alert that is not closed was received. */
export function callsWaitingSince(connection: Connection): { alertId: string; receivedAtMs: number }[] {
  return connection.all(
    `SELECT alert_id, min(received_at_ms) AS received_at_ms FROM cart_call
     WHERE alert_id IN (SELECT alert_id FROM alert WHERE kind = 'call' AND closed_at_ms IS NULL)
     GROUP BY alert_id ORDER BY alert_id`,
  )
}

/** Records the alert that a call acted on; its text is in the alert now. */
export function callActed(connection: Connection, seq: number, alertId: string | null): void {
  connection.run('UPDATE cart_call SET is_new = 0, text = NULL, alert_id = ? WHERE seq = ?', alertId, seq)
}

/** Deletes some calls received before `beforeMs`. */
export function deleteOldCalls(connection: Connection, beforeMs: number): void {
  connection.run(
    `DELETE FROM cart_call WHERE seq IN (SELECT seq FROM cart_call
       WHERE received_at_ms < ? AND is_new = 0 ORDER BY received_at_ms LIMIT ${STEP_ROWS})`,
    beforeMs,
  )
}

/** Blanks the texts of calls made before `beforeMs` in some alerts; returns their number. */
export const blankCallTextsStep = write(
  (connection: Connection, { beforeMs }: { beforeMs: number }): number => {
    connection.db.pragma('secure_delete = ON')
    try {
      return connection.run(
        `UPDATE alert SET details = json_set(details, '$.text', NULL) WHERE seq IN (SELECT seq FROM alert
           WHERE kind = 'call' AND opened_at_ms < ? AND details ->> 'text' IS NOT NULL
           ORDER BY opened_at_ms LIMIT ${STEP_ROWS})`,
        beforeMs,
      )
    } finally {
      connection.db.pragma('secure_delete = FAST')
    }
  },
  { audit: null },
)
