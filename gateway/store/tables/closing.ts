import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const closingTable = table('closing', {
  care: {
    what: 'the days on which the carts were locked at closing time',
    meaning: 'If closing time was within the last hour, carts in their parking zone may be locked a second time.',
  },
  json: {
    waiting: { type: 'array', cure: { set: "waiting = '[]'" } },
  },
})

/** Local day on which the carts were locked at closing time. */
export interface ClosedDay {
  /** `2026-05-01` */
  date: string
  closedAtMs: number
  /** Carts that were in but unreachable at the time: they are locked as soon as they can be reached. */
  waiting: readonly string[]
}

/** Covers more days than a clock that was set back would repeat. */
const KEPT_DAYS = 40

/** Closed days, newest first. */
export function closedDays(connection: Connection): ClosedDay[] {
  const sql = `SELECT date, closed_at_ms, waiting AS waitingJson FROM closing
    ORDER BY closed_at_ms DESC, date DESC LIMIT ${KEPT_DAYS}`
  return connection
    .all<Omit<ClosedDay, 'waiting'> & { waitingJson: string }>(sql)
    .map(({ waitingJson, ...day }) => ({ ...day, waiting: JSON.parse(waitingJson) }))
}

/** Records that a day is closed, or which of its carts are still waiting; the time first stored is kept. */
export const saveClosedDay = write(
  (connection: Connection, { date, closedAtMs, waiting }: ClosedDay): null => {
    connection.run(
      `INSERT INTO closing (date, closed_at_ms, waiting) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET waiting = excluded.waiting`,
      date,
      closedAtMs,
      JSON.stringify(waiting),
    )
    connection.run(
      `DELETE FROM closing WHERE date NOT IN (
       SELECT date FROM closing ORDER BY closed_at_ms DESC, date DESC LIMIT ${KEPT_DAYS})`,
    )
    return null
  },
  {
    // the locks of that day have entries as commands
    audit: null,
  },
)
