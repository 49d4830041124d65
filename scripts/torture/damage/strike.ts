import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { silently } from '#testing/silently.ts'

/** Damage typical of flash: one bit, a sector that reads as zeros, a page with other content. */
export type StrikeKind = 'bit' | 'sector of zeros' | 'page of noise'

/** Damage to one place of a file. */
export interface Strike {
  file: 'cartbarn.db' | 'cartbarn.db-wal'
  kind: StrikeKind
  /** In bytes. */
  offset: number
  /** Seed of its random parts. */
  seed: number
}

/** Page of a table or an index of a database. */
export interface NamedPage {
  name: string
  /** From 1. */
  page: number
}

const PAGE_BYTES = 4096
const SECTOR_BYTES = 512
const KINDS: readonly [StrikeKind, ...StrikeKind[]] = ['bit', 'sector of zeros', 'page of noise']

/** Chooses damage somewhere in a file of the folder; the same seed gives the same damage. */
export function chooseStrike(dataDir: string, file: Strike['file'], seed: number): Strike {
  const random = createRandom('strike', seed)
  const kind = random.pick(KINDS)
  const bytes = sizeOf(join(dataDir, file))
  const unit = { bit: 1, 'sector of zeros': SECTOR_BYTES, 'page of noise': PAGE_BYTES }[kind]
  const offset = random.integer(0, Math.max(0, Math.floor(bytes / unit) - 1)) * unit
  return { file, kind, offset, seed }
}

/** Returns damage that overwrites one page of the database with noise. */
export function strikePage({ page }: NamedPage, seed: number): Strike {
  return { file: 'cartbarn.db', kind: 'page of noise', offset: (page - 1) * PAGE_BYTES, seed }
}

/** Damages the file as a disk does, without changing its time. */
export function strike(dataDir: string, { file, kind, offset, seed }: Strike): void {
  const path = join(dataDir, file)
  silently(path, () => {
    const fd = openSync(path, 'r+')
    try {
      const bytes = damaged(fd, kind, offset, createRandom('content', seed))
      writeSync(fd, bytes, 0, bytes.length, offset)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  })
}

function damaged(fd: number, kind: StrikeKind, offset: number, random: Random): Uint8Array {
  if (kind === 'sector of zeros') return new Uint8Array(SECTOR_BYTES)
  if (kind === 'page of noise') return Uint8Array.from({ length: PAGE_BYTES }, () => random.integer(0, 255))
  const byte = new Uint8Array(1)
  readSync(fd, byte, 0, 1, offset)
  return Uint8Array.of((byte[0] ?? 0) ^ (1 << random.integer(0, 7)))
}

/** Returns one page of each table and index, except the schema's; the same seed gives the same pages. */
export function namedPages(dataDir: string, seed: number): NamedPage[] {
  const random = createRandom('pages', seed)
  return readDatabase(dataDir, (db) => {
    const pages = db
      .prepare<[], NamedPage>(
        "SELECT name, pageno AS page FROM dbstat WHERE name <> 'sqlite_schema' AND pagetype <> 'overflow' ORDER " +
          'BY name, pageno',
      )
      .all()
    const byName = Map.groupBy(pages, ({ name }) => name)
    return [...byName.values()].flatMap(([first, ...rest]) =>
      first === undefined ? [] : [random.pick([first, ...rest])],
    )
  })
}

function sizeOf(path: string): number {
  const fd = openSync(path, 'r')
  try {
    return fstatSync(fd).size
  } finally {
    closeSync(fd)
  }
}
