import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { median, printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { decodeBlock, encodeBlock, verifyBlock } from '#shared/telemetry/block.ts'
import { splitIntoFullBlocks } from '#shared/telemetry/merge.ts'
import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import { IN_USE, recordTrack, type TrackStyle } from './history-parts.ts'

/** Rounds before code is compiled, and recompiled for what it sees in other tracks. */
const WARM_UP_ROUNDS = 3
const RECORDS = 131_072
const SHORT_RECORDS = 16_384
const STYLES: readonly TrackStyle[] = [
  { ...IN_USE, name: '1 s, driving', intervalS: 1, keeps: (cart) => cart.speedMps > 0 },
  { ...IN_USE, name: '1 s, parked', intervalS: 1, keeps: (cart) => cart.speedMps === 0 },
  { ...IN_USE, name: '1 s, uneven', intervalS: 1, latenessMs: 200, speed: 'every-digit' },
  { ...IN_USE, name: '5 s', intervalS: 5 },
  { ...IN_USE, name: '5 s, without speed', intervalS: 5, speed: 'none' },
  { ...IN_USE, name: '5 s, uneven', intervalS: 5, latenessMs: 200, speed: 'every-digit' },
  { ...IN_USE, name: '30 s', intervalS: 30 },
  { ...IN_USE, name: '30 s, uneven', intervalS: 30, latenessMs: 900, speed: 'every-digit' },
]

const OPERATIONS = ['encode', 'verify', 'decode'] as const
type Operation = (typeof OPERATIONS)[number]

const slowest = { unit: ' M/s', digits: 1, by: 'least' } as const

/** Measures the codec in one thread, by CPU time, so that what else the machine does counts less. */
export const blocks = measurement({
  name: 'blocks',
  summary: `telemetry blocks of ${STYLES.length} simulated tracks: bytes, positions a second of CPU`,
  rounds: 15,
  figures: {
    fileBytes: { what: 'bytes of a position in the file, at most', target: ['<=', 9], digits: 2, by: 'most' },
    bytes: { what: 'bytes of a position in a block, at most', digits: 2, by: 'most' },
    decode: { what: 'decoded, slowest track', target: ['>=', 21], ...slowest },
    encode: { what: 'encoded, slowest track', target: ['>=', 3], ...slowest },
    verify: { what: 'verified, slowest track', ...slowest },
  },
  async run({ bench, isShort, rounds }) {
    const tracks = STYLES.map((style) => {
      printProgress(`  recording ${style.name}`)
      return createTrack(recordTrack(style, isShort ? SHORT_RECORDS : RECORDS))
    })
    for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
      // alternates between the tracks, so that a slow minute of the machine affects the rounds of all of them
      for (const { work, cpuUs } of tracks) {
        for (const operation of OPERATIONS) cpuUs[operation].push(cpuMicroseconds(work[operation]))
      }
    }
    const rate = (operation: Operation) =>
      tracks.map(({ count, cpuUs }) => count / median(cpuUs[operation].slice(WARM_UP_ROUNDS)))
    return {
      fileBytes: tracks.map(({ count, blocks }) => fileBytes(bench.createFolder('blocks'), blocks) / count),
      bytes: tracks.map(({ count, blocks }) => blocks.reduce((sum, { length }) => sum + length, 0) / count),
      decode: rate('decode'),
      encode: rate('encode'),
      verify: rate('verify'),
    }
  },
})

/** Blocks of a track, and the work on them with the CPU time of each round. */
function createTrack(records: GpsRecords) {
  const count = records.atMs.length
  const parts = splitIntoFullBlocks(GPS, records)
  const blocks = parts.map((part) => encodeBlock(GPS, part))
  const decoded = GPS.allocate(count)
  const work: Record<Operation, () => void> = {
    encode: () => {
      for (const part of parts) encodeBlock(GPS, part)
    },
    verify: () => {
      for (const block of blocks) verifyBlock(block)
    },
    decode: () => {
      let at = 0
      for (const block of blocks) at += decodeBlock(GPS, block, decoded, at)
    },
  }
  const cpuUs: Record<Operation, number[]> = { encode: [], verify: [], decode: [] }
  return { count, blocks, work, cpuUs }
}

function cpuMicroseconds(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return Math.max(1, user + system)
}

/** Size of a whole database file with nothing but these blocks in it. */
function fileBytes(folder: string, blocks: readonly Uint8Array[]): number {
  const path = join(folder, 'blocks.db')
  const db = new Database(path)
  db.exec('CREATE TABLE block (block_id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT')
  const insert = db.prepare('INSERT INTO block (body) VALUES (?)')
  db.transaction(() => {
    for (const block of blocks) insert.run(block)
  })()
  db.close()
  return statSync(path).size
}
