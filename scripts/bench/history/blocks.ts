import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { atLeast, atMost, conclude, type Figure, median, printProgress, printTable } from '#scripts/rig/report.ts'
import { decodeBlock, encodeBlock, verifyBlock } from '#shared/telemetry/block.ts'
import { splitIntoFullBlocks } from '#shared/telemetry/merge.ts'
import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import { recordTrack, TRACK_STYLES } from './block-tracks.ts'

const BYTES_TARGET = 9
const DECODE_TARGET_MHZ = 21
const ENCODE_TARGET_MHZ = 3
/** Rounds before code is compiled, and recompiled for what it sees in other tracks. */
const WARM_UP_ROUNDS = 3

/** Figures of one track; rates are millions of positions a second. */
interface BlockFigures {
  track: string
  bytesAFix: number
  /** Size of the whole database file, with nothing but blocks in it. */
  fileBytesAFix: number
  encodeMhz: number
  verifyMhz: number
  decodeMhz: number
}

/** Measures the codec of telemetry blocks. Returns true if every target was met. */
export async function runBlocks(bench: Workbench, args: readonly string[]): Promise<boolean> {
  const command = createCommandLine('bench blocks', process)
    .description(
      'Bytes and speed of telemetry blocks, on tracks of the simulator. One thread; rates by CPU time, so that ' +
        'what else ' +
        'the machine does counts less.',
    )
    .option('--short', 'shorter tracks: checks that it works, not the speed')
    .option('--rounds <n>', 'rounds of every measurement; the median counts', wholeNumber(1), 15)
  const { short, rounds } = parseCommandLine(command, args).opts()
  const tracks = TRACK_STYLES.map((style) => {
    printProgress(`recording ${style.name}`)
    return { style, records: recordTrack(style, short ? 16_384 : 131_072) }
  })
  const subjects = tracks.map(({ style, records }) => new BlockSubject(style.name, records))
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    // Alternates between the tracks, so that a slow minute of the machine affects the rounds of all of them.
    for (const subject of subjects) subject.measureOnce(round >= 0)
  }
  const all = subjects.map((subject) => subject.figures(bench.createFolder('blocks')))
  const cells = (one: BlockFigures) =>
    [one.bytesAFix, one.fileBytesAFix, one.encodeMhz, one.verifyMhz, one.decodeMhz].map((n) => n.toFixed(2))
  printTable(
    'Telemetry blocks',
    ['positions', 'bytes', 'in the file', 'encode M/s', 'verify M/s', 'decode M/s'],
    all.map((one) => [one.track, ...cells(one)]),
  )
  return conclude('blocks', judge(all), all)
}

/** Track to measure, with the durations of all operations on it. */
class BlockSubject {
  readonly #name: string
  readonly #parts: readonly GpsRecords[]
  readonly #blocks: readonly Uint8Array[]
  readonly #decoded: GpsRecords
  readonly #cpu: Record<'encode' | 'verify' | 'decode', number[]> = { encode: [], verify: [], decode: [] }

  constructor(name: string, records: GpsRecords) {
    this.#name = name
    this.#parts = splitIntoFullBlocks(GPS, records)
    this.#blocks = this.#parts.map((part) => encodeBlock(GPS, part))
    this.#decoded = GPS.allocate(records.atMs.length)
  }

  measureOnce(counts: boolean): void {
    const encode = cpuMicroseconds(() => {
      for (const part of this.#parts) encodeBlock(GPS, part)
    })
    const verify = cpuMicroseconds(() => {
      for (const block of this.#blocks) verifyBlock(block)
    })
    const decode = cpuMicroseconds(() => {
      let count = 0
      for (const block of this.#blocks) count += decodeBlock(GPS, block, this.#decoded, count)
    })
    if (!counts) return
    this.#cpu.encode.push(encode)
    this.#cpu.verify.push(verify)
    this.#cpu.decode.push(decode)
  }

  figures(folder: string): BlockFigures {
    const count = this.#decoded.atMs.length
    return {
      track: this.#name,
      bytesAFix: this.#blocks.reduce((sum, block) => sum + block.length, 0) / count,
      fileBytesAFix: fileBytes(folder, this.#blocks) / count,
      encodeMhz: count / median(this.#cpu.encode),
      verifyMhz: count / median(this.#cpu.verify),
      decodeMhz: count / median(this.#cpu.decode),
    }
  }
}

function cpuMicroseconds(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return Math.max(1, user + system)
}

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

function judge(all: readonly BlockFigures[]): Figure[] {
  const most = Math.max(...all.map((one) => one.fileBytesAFix))
  const slowest = (rate: 'encodeMhz' | 'decodeMhz') => Math.min(...all.map((one) => one[rate]))
  const rate = { unit: ' M/s', digits: 1 }
  return [
    atMost('bytes of a position in the file, at most', most, BYTES_TARGET, { digits: 2 }),
    atLeast('decoded, slowest track', slowest('decodeMhz'), DECODE_TARGET_MHZ, rate),
    atLeast('encoded, slowest track', slowest('encodeMhz'), ENCODE_TARGET_MHZ, rate),
  ]
}
