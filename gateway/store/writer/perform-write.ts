import type { DatedOrigin } from '../db/audit.ts'
import { insertAuditEntry } from '../tables/audit-log.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { type WriteName, writeOf } from './writes.ts'

/** Performs a write for `origin` and enters it in the audit log; the caller has the transaction. */
export function performWrite(
  connection: WriterTables,
  name: WriteName,
  input: unknown,
  origin: DatedOrigin,
): unknown {
  const write = writeOf(name)
  const endAudit = write.audit?.(connection, input, origin)
  const result = write(connection, input)
  for (const record of endAudit?.(result) ?? []) insertAuditEntry(connection, origin, record)
  return result
}
