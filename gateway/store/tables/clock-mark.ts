import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const clockMarkTable = table('clock_mark', {
  care: {
    what: 'what time it was last',
    meaning: 'It is taken from the devices.',
    afterLoss: [
      `INSERT OR IGNORE INTO clock_mark (clock_mark_id, at_ms)
         SELECT 1, ifnull(max(updated_at_ms), 0) FROM device_state`,
    ],
  },
})

/** What the gateway knew last about the time; each is 0 when it never knew. */
export interface ClockMarkRow {
  /** What time it was. */
  atMs: number
  /** What time it was by the last confirmation and by what is known to have gone by since. */
  confirmedMs: number
  /** The newest time that devices sent by clocks of their own. */
  saidMs: number
  /** How long the gateway ran since it was last sent one. */
  saidAgoMs: number
}

export function clockMark(connection: Connection): ClockMarkRow {
  const row = connection.get<ClockMarkRow>(
    `SELECT at_ms, confirmed_at_ms AS confirmedMs, said_at_ms AS saidMs,
       said_ago_ms FROM clock_mark`,
  )
  return row ?? { atMs: 0, confirmedMs: 0, saidMs: 0, saidAgoMs: 0 }
}

export const recordClockMark = write(
  (connection: Connection, row: ClockMarkRow): null => {
    const { atMs, confirmedMs, saidMs, saidAgoMs } = row
    connection.run(
      'UPDATE clock_mark SET at_ms = ?, confirmed_at_ms = ?, said_at_ms = ?, said_ago_ms = ?',
      atMs,
      confirmedMs,
      saidMs,
      saidAgoMs,
    )
    return null
  },
  { audit: null },
)

/** The same, because an admin says that the clock is right. */
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
