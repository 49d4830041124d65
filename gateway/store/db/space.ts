import type { Connection } from './connection.ts'

/** Bytes of the database: in use, and free for what is written next. */
export interface DatabaseSpace {
  usedBytes: number
  freeBytes: number
}

export function databaseSpace({ db }: Connection): DatabaseSpace {
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }))
  const pageBytes = pragma('page_size')
  const freeBytes = pragma('freelist_count') * pageBytes
  return { usedBytes: pragma('page_count') * pageBytes - freeBytes, freeBytes }
}
