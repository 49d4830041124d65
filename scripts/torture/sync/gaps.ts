import type { TelemetryStream } from '#shared/ids.ts'
import { type Gap, gapSchema } from '#shared/wire/sync.ts'
import type { SyncFindings } from './findings.ts'
import type { HubSite } from './telemetry-check.ts'

/** A gap names at most so many devices; then it may be of any. */
const MAX_NAMED = 100

/** The gaps a gateway told its hub of. */
export class HubGaps {
  readonly count: number
  readonly #gaps: readonly Gap[]

  private constructor(gaps: readonly Gap[]) {
    this.#gaps = gaps
    this.count = gaps.length
  }

  /** Reads them from the notes; what the hub made of each must be the same. */
  static async read({ sql, siteId }: HubSite, findings: SyncFindings): Promise<HubGaps> {
    const notes = await sql.all<{ noteId: string; body: string }>(
      `SELECT event_id AS "noteId", body FROM event WHERE site_id = $1 AND stream = 'notes'`,
      [siteId],
    )
    const rows = await sql.all<{
      noteId: string
      stream: string
      fromMs: number
      toMs: number
      rowCount: number
    }>(
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
        findings.note('counts', `gap ${noteId} is not as it was told`)
    }
    if (rows.length !== gaps.length)
      findings.note('counts', `${rows.length} gaps at the hub, ${gaps.length} were told`)
    return new HubGaps(gaps)
  }

  /** Whether a record of that time may be missing. */
  cover(hardwareId: string, stream: TelemetryStream, atMs: number): boolean {
    return this.#gaps.some((gap) => {
      const isOfDevice = gap.hardware_ids.length >= MAX_NAMED || gap.hardware_ids.includes(hardwareId)
      return gap.stream === stream && isOfDevice && gap.from_ms <= atMs && atMs <= gap.to_ms
    })
  }
}
