import type { Connection } from './db/connection.ts'

/** What time the gateway knew it to be last; 0 when it never did. */
export function clockMark(connection: Connection): number {
  return connection.get<{ atMs: number }>('SELECT at_ms AS atMs FROM clock_mark')?.atMs ?? 0
}

export function recordClockMark(connection: Connection, { atMs }: { atMs: number }): null {
  connection.run('UPDATE clock_mark SET at_ms = ?', atMs)
  return null
}
