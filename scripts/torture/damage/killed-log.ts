import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '#shared/random.ts'
import type { DamageFinding } from '#store/damage/findings.ts'
import { checkLog } from '#store/damage/log-check.ts'
import { requireTransactions } from '#testing/damage/written-log.ts'

const HEADER_BYTES = 32
const HEAD_BYTES = 24
const FRAME_BYTES = HEAD_BYTES + 4096
const SECTOR_BYTES = 512

/** Files of a database whose process was killed. */
export interface KilledFiles {
  database: Buffer
  log: Buffer
  index: Buffer | null
}

/** Null if it has no log: nothing was written since the last one was emptied. */
export function readKilled(path: string): KilledFiles | null {
  const read = (end: string) => (existsSync(path + end) ? readFileSync(path + end) : null)
  const log = read('-wal')
  if (log === null || log.length <= HEADER_BYTES) return null
  return { database: readFileSync(path), log, index: read('-shm') }
}

/** Writes the files into a folder, replacing those of the previous call. */
function putDown(folder: string, { database, log, index }: KilledFiles): string {
  const path = join(folder, 'cartbarn.db')
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
  writeFileSync(path, database)
  writeFileSync(`${path}-wal`, log)
  if (index !== null) writeFileSync(`${path}-shm`, index)
  return path
}

/** Finding of the log check for the files. */
export function findingOf(folder: string, files: KilledFiles): DamageFinding | null {
  return checkLog(putDown(folder, files), 0)
}

/** Number of transactions that SQLite finds on its own; a text if they are not a prefix of the written ones. */
export function transactionsIn(folder: string, files: KilledFiles, seed: number): number | string {
  return countIn(putDown(folder, files), seed)
}

/** Number of transactions after the check, likewise. */
export function checkedTransactionsIn(
  folder: string,
  files: KilledFiles,
  seed: number,
): { finding: DamageFinding | null; transactions: number | string } {
  const path = putDown(folder, files)
  const finding = checkLog(path, 0)
  return { finding, transactions: countIn(path, seed) }
}

function countIn(path: string, seed: number): number | string {
  try {
    return requireTransactions(path, seed)
  } catch (error) {
    return String(error)
  }
}

/** Bytes of the last transaction in a log; null if it has none. */
function lastTransaction(log: Buffer): { from: number; to: number } | null {
  const salts = log.readBigUInt64BE(16)
  let [from, to] = [HEADER_BYTES, 0]
  for (let at = HEADER_BYTES; at + FRAME_BYTES <= log.length; at += FRAME_BYTES) {
    if (log.readBigUInt64BE(at + 8) !== salts) break
    if (log.readUInt32BE(at + 4) === 0) continue
    if (to > 0) from = to
    to = at + FRAME_BYTES
  }
  return to === 0 ? null : { from, to }
}

/**
 * True if a log with this damage looks torn by a power cut in its last transaction: the damage is in that transaction,
 * or hides the end of the one before, so that both look like one. Any other damage is followed by two ends.
 */
export function isTorn(whole: Buffer, damage: { log: Buffer; from: number; to: number }): boolean {
  const last = lastTransaction(whole)
  return last !== null && (damage.to > last.from || endsAfter(whole, damage) < 2)
}

/** Number of transaction ends from the damage on: whole heads; of damaged pages only if written in one sector. */
function endsAfter(whole: Buffer, { log, from, to }: { log: Buffer; from: number; to: number }): number {
  const salts = whole.readBigUInt64BE(16)
  const first = Math.max(0, Math.floor((from - HEADER_BYTES) / FRAME_BYTES))
  let ends = 0
  for (let at = HEADER_BYTES + first * FRAME_BYTES; at + FRAME_BYTES <= log.length; at += FRAME_BYTES) {
    const isHeadDamaged = at < to && at + HEAD_BYTES > from
    const isDamaged = at < to && at + FRAME_BYTES > from
    const isAtOnce = (at % SECTOR_BYTES) + HEAD_BYTES <= SECTOR_BYTES
    if (isHeadDamaged || (isDamaged && !isAtOnce) || log.readUInt32BE(at + 4) === 0) continue
    if (log.readBigUInt64BE(at + 8) === salts) ends++
  }
  return ends
}

/** True if a checkpoint of the log was begun: `nBackfillAttempted` of its index. */
export function isCopied({ index }: KilledFiles): boolean {
  return index !== null && index.length >= 132 && index.readUInt32LE(128) > 0
}

const DAMAGE = ['a bit', 'a bit of the header', 'a bit of a head', 'a sector', 'a page'] as const

/** Returns a log as a failing disk reads it. */
export function damaged(log: Buffer, random: Random): { log: Buffer; from: number; to: number } {
  const copy = Buffer.from(log)
  const end = lastTransaction(log)?.to ?? log.length
  const kind = random.pick(DAMAGE)
  const [from, bytes] = place(kind, end, random)
  const to = Math.min(copy.length, from + bytes)
  if (kind === 'a sector') copy.fill(0, from, to)
  else if (kind === 'a page') for (let at = from; at < to; at++) copy[at] = random.integer(0, 255)
  else copy[from] = Number(copy[from]) ^ (1 << random.integer(0, 7))
  return { log: copy, from, to }
}

function place(kind: (typeof DAMAGE)[number], end: number, random: Random): [from: number, bytes: number] {
  const frame = random.integer(0, Math.floor(end / FRAME_BYTES) - 1)
  switch (kind) {
    case 'a bit':
      return [random.integer(0, end - 1), 1]
    case 'a bit of the header':
      return [random.integer(0, HEADER_BYTES - 1), 1]
    case 'a bit of a head':
      return [HEADER_BYTES + frame * FRAME_BYTES + random.integer(0, 23), 1]
    case 'a sector':
      return [random.integer(0, Math.floor((end - 1) / SECTOR_BYTES)) * SECTOR_BYTES, SECTOR_BYTES]
    case 'a page':
      return [random.integer(0, Math.floor((end - 1) / 4096)) * 4096, 4096]
  }
}

/** Returns a log with a torn last transaction, as in a power cut; `before` is the previous content of the disk. */
export function torn(log: Buffer, before: Buffer, random: Random): Buffer | null {
  const last = lastTransaction(log)
  if (last === null) return null
  const copy = Buffer.from(log)
  const kept = random.next()
  for (let at = last.from; at < copy.length; ) {
    const end = Math.min(copy.length, at - (at % SECTOR_BYTES) + SECTOR_BYTES)
    if (!random.chance(kept)) {
      copy.fill(0, at, end)
      if (at < before.length) before.copy(copy, at, at, end)
    }
    at = end
  }
  return random.chance(0.5) ? copy : copy.subarray(0, random.integer(last.from, copy.length))
}
