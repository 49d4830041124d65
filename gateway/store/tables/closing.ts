import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const closingTable = table('closing', {
  care: {
    what: 'on which days the carts were locked at closing time',
    meaning: 'If closing time was within the last hour, carts in their parking zone may be locked a second time.',
  },
  json: {
    waiting: { type: 'array', cure: { set: "waiting = '[]'" } },
  },
})

/** A local day on which the carts were locked at closing time. */
export interface ClosedDay {
  /** `2026-05-01` */
  date: string
  closedAtMs: number
  /** Carts that were in then, and out of reach: they are locked when they can be. */
  waiting: readonly string[]
}

/** More than a clock that was set back goes through again. */
const KEPT_DAYS = 40

/** The days that have been closed, newest first. */
export function closedDays(connection: Connection): ClosedDay[] {
  const sql = `SELECT date, closed_at_ms, waiting AS waitingJson FROM closing
    ORDER BY closed_at_ms DESC, date DESC LIMIT ${KEPT_DAYS}`
  return connection
    .all<Omit<ClosedDay, 'waiting'> & { waitingJson: string }>(sql)
    .map(({ waitingJson, ...day }) => ({ ...day, waiting: JSON.parse(waitingJson) }))
}

/** Notes that a day is closed, or which of its carts still wait; the first time of it stays. */
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
    // the locks of that day are entered as commands
    audit: null,
  },
)
