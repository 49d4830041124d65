import { type DatedOrigin, insertAuditEntry } from '../tables/audit-log.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { beginAudit } from './audited.ts'
import { type WriteName, writes } from './writes.ts'

/** Performs a write for `origin` and enters it in the audit log; the caller has the transaction. */
export function performWrite(
  connection: WriterTables,
  name: WriteName,
  input: unknown,
  origin: DatedOrigin,
): unknown {
  // the pair came from Store.write, which only takes an input that fits its name
  const write = writes[name] as (connection: WriterTables, input: unknown) => unknown
  const endAudit = beginAudit(connection, name, input, origin)
  const result = write(connection, input)
  for (const record of endAudit(result)) insertAuditEntry(connection, origin, record)
  return result
}
