import { DAY_MS } from '#shared/time.ts'
import type { AuditKind, SyncStream } from '#shared/wire/replication/sync.ts'
import type { PartContent } from './part-content.ts'

/** Rows of a group that an audit asked for. */
export interface ResentRows {
  readonly kind: AuditKind
  /** -1 for entities. */
  readonly dayMs: number
  readonly group: string
  count: number
}

/** How many rows of which groups are in a resent part. */
export function resentRows(stream: SyncStream, content: PartContent): ResentRows[] {
  const groups = new Map<string, ResentRows>()
  const add = (kind: AuditKind, dayMs: number, group: string) => {
    const key = JSON.stringify([kind, dayMs, group])
    const known = groups.get(key)
    if (known === undefined) groups.set(key, { kind, dayMs, group, count: 1 })
    else known.count++
  }
  if (content.type === 'rows' && stream !== 'telemetry' && stream !== 'history') {
    for (const row of content.rows) {
      const { table, at_ms, hardware_id } = { ...(typeof row === 'object' ? row : {}) } as Record<
        string,
        unknown
      >
      if (stream === 'entities') add(stream, -1, String(table))
      else if (typeof at_ms === 'number')
        add(stream, dayOf(at_ms), stream === 'notes' ? '' : String(hardware_id))
    }
  } else if (content.type === 'runs' || content.type === 'blocks') {
    const pieces = content.type === 'runs' ? content.runs : content.blocks
    for (const { hardwareId, stream: kind, records } of pieces)
      for (const timeMs of records.atMs) add(kind, dayOf(timeMs), hardwareId)
  }
  return [...groups.values()]
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS
}
