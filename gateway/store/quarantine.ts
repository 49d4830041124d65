import type { Connection } from './db/connection.ts'
import type { NewQuarantineEntry } from './writer/append.ts'

/** Payloads that could not be read, newest first. */
export function listQuarantine(connection: Connection, limit: number): NewQuarantineEntry[] {
  return connection.all<NewQuarantineEntry>(
    `SELECT received_at_ms AS receivedAtMs, hardware_id AS hardwareId, topic, reason, size_bytes AS sizeBytes, payload
     FROM quarantine ORDER BY quarantine_id DESC LIMIT ?`,
    limit,
  )
}
