import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const clockMarkTable = table('clock_mark', {
  care: {
    what: 'the last known time',
    meaning: 'It is taken from the devices.',
    afterLoss: [
      `INSERT OR IGNORE INTO clock_mark (clock_mark_id, at_ms)
         SELECT 1, ifnull(max(updated_at_ms), 0) FROM device_state`,
    ],
  },
})

/** Last known times of the gateway; each is 0 if never known. */
export interface ClockMarkRow {
  /** Last time of the clock. */
  atMs: number
  /** Last confirmed time, plus the time that is known to have passed since. */
  confirmedMs: number
  /** Newest time that devices reported from clocks of their own. */
  reportedMs: number
  /** Uptime of the gateway since it last received one, in ms. */
  reportedAgoMs: number
}

export function clockMark(connection: Connection): ClockMarkRow {
  const row = connection.get<ClockMarkRow>(
    `SELECT at_ms, confirmed_at_ms AS confirmedMs, said_at_ms AS reportedMs,
       said_ago_ms AS reportedAgoMs FROM clock_mark`,
  )
  return row ?? { atMs: 0, confirmedMs: 0, reportedMs: 0, reportedAgoMs: 0 }
}

export const recordClockMark = write(
  (connection: Connection, row: ClockMarkRow): null => {
    const { atMs, confirmedMs, reportedMs, reportedAgoMs } = row
    connection.run(
      'UPDATE clock_mark SET at_ms = ?, confirmed_at_ms = ?, said_at_ms = ?, said_ago_ms = ?',
      atMs,
      confirmedMs,
      reportedMs,
      reportedAgoMs,
    )
    return null
  },
  { audit: null },
)

/** Records the clock as an admin confirmed it. */
export const confirmClock = write(
  (connection: Connection, row: ClockMarkRow): null => {
    return recordClockMark(connection, row)
  },
  {
    audit:
      (_, { confirmedMs }) =>
      () => [event('clock.confirmed', 'clock', { now_ms: confirmedMs })],
  },
)
