import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { createRandom, type Random } from '#shared/random.ts'
import { NumberedWriter, requireTransactions } from '#testing/damage/written-log.ts'
import type { DamageFinding } from './findings.ts'
import { checkLog } from './log-check.ts'

/** Set CARTBARN_TEST_LONG=1 for three times as many tries; `npm run torture -- --only log` runs thousands. */
const SHARE = process.env.CARTBARN_TEST_LONG === undefined ? 1 : 3
const NOW_MS = Date.UTC(2026, 4, 1, 12)
const HEADER_BYTES = 32
const FRAME_BYTES = 24 + 4096
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-log-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Files of a database whose writer was killed. */
interface Killed {
  seed: number
  transactions: number
  database: Buffer
  log: Buffer
  index: Buffer
  /** Log without its last transaction. */
  logBefore: Buffer
}

/** Returns a path in an empty folder; deletes earlier files, mostly before the disk had to write them. */
function newPath(): string {
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
  return join(folder, 'cartbarn.db')
}

function kill(seed: number, transactions: number, then: (writer: NumberedWriter) => void = () => undefined): Killed {
  const path = newPath()
  const writer = new NumberedWriter(path, seed)
  for (let i = 1; i < transactions; i++) writer.write()
  const logBefore = readFileSync(`${path}-wal`)
  writer.write()
  then(writer)
  const [database, log, index] = ['', '-wal', '-shm'].map((end) => readFileSync(path + end))
  writer.db.close()
  assert.ok(database !== undefined && log !== undefined && index !== undefined)
  return { seed, transactions, database, log, index, logBefore }
}

const CASES: readonly Killed[] = [kill(1, 16), kill(2, 17), kill(3, 52)]

function caseOf(which: number): Killed {
  const killed = CASES[which]
  assert.ok(killed !== undefined)
  return killed
}

interface Outcome {
  finding: DamageFinding | null
  /** Number of transactions that SQLite finds afterwards; it fails unless they are complete. */
  transactions: number
  path: string
}

function check({ seed, database, index }: Killed, log: Buffer, { hasIndex = true } = {}): Outcome {
  const path = newPath()
  writeFileSync(path, database)
  writeFileSync(`${path}-wal`, log)
  if (hasIndex) writeFileSync(`${path}-shm`, index)
  const finding = checkLog(path, NOW_MS)
  return { finding, transactions: requireTransactions(path, seed), path }
}

function flipped(log: Buffer, byte: number, bit: number): Buffer {
  const copy = Buffer.from(log)
  copy[byte] = Number(copy[byte]) ^ (1 << bit)
  return copy
}

const framesOf = (log: Buffer) => (log.length - HEADER_BYTES) / FRAME_BYTES
const frameAt = (frame: number) => HEADER_BYTES + frame * FRAME_BYTES
const isCommit = (log: Buffer, frame: number) => log.readUInt32BE(frameAt(frame) + 4) > 0
const commits = (log: Buffer) =>
  Array.from({ length: framesOf(log) }, (_, frame) => frame).filter((frame) => isCommit(log, frame))

/** True if the page of a frame occurs again later in the log. */
function comesAgain(log: Buffer, frame: number): boolean {
  const page = (of: number) => log.readUInt32BE(frameAt(of))
  return Array.from({ length: framesOf(log) }, (_, other) => other).some(
    (other) => other > frame && page(other) === page(frame),
  )
}

/** Kinds of damage to a log. */
const DAMAGE: Record<string, (log: Buffer, random: Random) => Buffer> = {
  'a bit': (log, random) => flipped(log, random.integer(0, log.length - 1), random.integer(0, 7)),
  'a bit of the header': (log, random) => flipped(log, random.integer(0, 31), random.integer(0, 7)),
  'a bit of the head of a frame': (log, random) =>
    flipped(log, frameAt(random.integer(0, framesOf(log) - 1)) + random.integer(0, 23), random.integer(0, 7)),
  'a bit at the beginning of a page': (log, random) =>
    flipped(log, frameAt(random.integer(0, framesOf(log) - 1)) + 24 + random.integer(0, 63), random.integer(0, 7)),
  'a bit of a commit': (log, random) => {
    const ends = commits(log)
    const frame = Number(ends[random.integer(0, ends.length - 1)])
    return flipped(log, frameAt(frame) + random.integer(0, FRAME_BYTES - 1), random.integer(0, 7))
  },
  'a bit of the last frame': (log, random) =>
    flipped(log, log.length - 1 - random.integer(0, FRAME_BYTES - 1), random.integer(0, 7)),
  'a sector of zeros': (log, random) => overwritten(log, random, 512, () => 0),
  'a page of noise': (log, random) => overwritten(log, random, 4096, () => random.integer(0, 255)),
}

/**
 * Returns the start of the last transaction as far as it is visible: after the last earlier commit with an undamaged
 * frame.
 */
function lastFrame(log: Buffer, damaged: Buffer): number {
  const isWhole = (frame: number) =>
    log.subarray(frameAt(frame), frameAt(frame) + 24).equals(damaged.subarray(frameAt(frame), frameAt(frame) + 24))
  const seen = commits(log).filter((frame) => frame < framesOf(log) - 1 && isWhole(frame))
  return Math.max(-1, ...seen) + 1
}

function overwritten(log: Buffer, random: Random, bytes: number, value: () => number): Buffer {
  const copy = Buffer.from(log)
  const from = random.integer(0, Math.floor(log.length / bytes) - 1) * bytes
  for (let i = 0; i < bytes; i++) copy[from + i] = value()
  return copy
}

for (const [name, damage] of Object.entries(DAMAGE)) {
  test(`${name}: lost transactions are always reported, and intact ones never`, () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(CASES.length - 1), fc.boolean(), (seed, which, hasIndex) => {
        const killed = caseOf(which)
        const log = damage(killed.log, createRandom(seed))
        const { finding, transactions } = check(killed, log, { hasIndex })
        // without an index, a damaged last transaction could also have been torn by a power cut
        const lastFrom = frameAt(lastFrame(killed.log, log))
        const mayBeTorn = !hasIndex && !log.subarray(lastFrom).equals(killed.log.subarray(lastFrom))
        if (transactions === killed.transactions) assert.notEqual(finding?.outcome, 'lost')
        else if (!mayBeTorn || finding !== null) assert.equal(finding?.outcome, 'lost')
      }),
      { numRuns: 20 * SHARE },
    )
  })
}

test('a damaged header is repaired, since the frames confirm each other', () => {
  const killed = caseOf(0)
  for (let bit = 0; bit < HEADER_BYTES * 8; bit += SHARE > 1 ? 3 : 7) {
    const { finding, transactions } = check(killed, flipped(killed.log, bit >> 3, bit & 7), {
      hasIndex: bit % 2 === 0,
    })
    assert.deepEqual([bit, finding?.outcome, transactions], [bit, 'mended', killed.transactions])
  }
})

test('a damaged page that a later frame replaces is skipped, with and without an index', () => {
  for (const killed of CASES) {
    const last = Number(commits(killed.logBefore).at(-1))
    const again = Array.from({ length: last }, (_, frame) => frame).filter((frame) => comesAgain(killed.log, frame))
    assert.ok(again.length > 10)
    for (const frame of again.filter((_, i) => i % 40 === 0)) {
      // a wrong page number could also explain wrong words at the beginning of a page
      const log = flipped(killed.log, frameAt(frame) + 1024, 3)
      for (const hasIndex of [true, false]) {
        const { finding, transactions } = check(killed, log, { hasIndex })
        assert.deepEqual([finding?.outcome, transactions], ['mended', killed.transactions])
      }
    }
  }
})

test('a wrong bit in a page that a later frame replaces loses no data without an index', () => {
  const random = createRandom(77)
  const killed = caseOf(1)
  const last = Number(commits(killed.logBefore).at(-1))
  const again = Array.from({ length: last }, (_, i) => i).filter((frame) => comesAgain(killed.log, frame))
  let lost = 0
  const tries = SHARE * 120
  for (let i = 0; i < tries; i++) {
    const frame = again[random.integer(0, again.length - 1)] ?? 0
    const byte = frameAt(frame) + 24 + 4 * random.integer(4, 1023) + (i % 4)
    const { finding } = check(killed, flipped(killed.log, byte, random.integer(0, 7)), { hasIndex: false })
    if (finding?.outcome !== 'mended') lost++
  }
  // some of the required headers are plausible by chance
  assert.ok(lost <= tries * 0.04, `${lost} of ${tries}`)
})

test('a page with a wrong page number does not count as replaced by a later frame', () => {
  const killed = caseOf(0)
  const { log } = killed
  for (let frame = 2; frame < framesOf(log) - 5; frame += SHARE > 1 ? 3 : 7) {
    const other = Buffer.from(log)
    // a page that occurs again at the end of the log
    other.writeUInt32BE(log.readUInt32BE(frameAt(framesOf(log) - 1)), frameAt(frame))
    if (other.equals(log)) continue
    const { finding, transactions } = check(killed, other, { hasIndex: false })
    assert.equal(finding?.outcome === 'mended', transactions === killed.transactions)
  }
})

test('the loss is reported in frames and transactions, and the damaged log is kept for its owner only', () => {
  const killed = caseOf(0)
  const ends = commits(killed.log)
  const frame = Number(ends.find((end) => !comesAgain(killed.log, end)))
  const log = flipped(killed.log, frameAt(frame) + 1024, 0)
  const { finding, transactions, path } = check(killed, log)
  const whole = ends.filter((end) => end < frame).at(-1) ?? -1
  const lostFrames = framesOf(log) - 1 - whole
  assert.equal(finding?.place, 'log')
  assert.equal(finding?.outcome, 'lost')
  assert.equal(finding?.foundAtMs, NOW_MS)
  assert.ok(transactions < killed.transactions)
  assert.match(String(finding?.detail), new RegExp(`: ${lostFrames} frames with at least \\d+ transactions`))
  const name = readdirSync(join(path, '..')).find((entry) => entry.includes('.damaged-')) ?? ''
  assert.ok(finding?.detail.includes(name))
  const copy = join(path, '..', name)
  assert.ok(readFileSync(copy).equals(log))
  assert.equal(statSync(copy).mode & 0o777, 0o600)
})

test('a last transaction torn by a power cut was never acknowledged and is not reported as damage', () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(CASES.length - 1), (seed, which) => {
      const killed = caseOf(which)
      const random = createRandom(seed)
      // each sector is written or not; the file may end anywhere
      const torn = Buffer.alloc(killed.log.length)
      killed.logBefore.copy(torn)
      for (let at = killed.logBefore.length; at < torn.length; ) {
        const end = Math.min(torn.length, at - (at % 512) + 512)
        if (random.chance(0.7)) killed.log.copy(torn, at, at, end)
        at = end
      }
      const length = random.chance(0.5) ? torn.length : random.integer(killed.logBefore.length, torn.length)
      const { finding, transactions } = check(killed, torn.subarray(0, length), { hasIndex: false })
      assert.equal(finding, null)
      assert.ok(transactions >= killed.transactions - 1)
    }),
    { numRuns: 60 * SHARE },
  )
})

test('frames of an earlier log, a rolled-back transaction and an empty log are not damage', () => {
  const earlier = kill(4, 60, (writer) => {
    writer.checkpointFrom(0)
    writer.write()
  })
  const rolledBack = kill(5, 20, ({ db }) => {
    db.exec('BEGIN')
    const insert = db.prepare('INSERT INTO entry (number, content) VALUES (0, randomblob(3000))')
    for (let i = 0; i < 100; i++) insert.run()
    db.exec('ROLLBACK')
  })
  assert.ok(rolledBack.log.length > frameAt(commits(rolledBack.log).at(-1) ?? 0) + 20 * FRAME_BYTES)
  for (const hasIndex of [true, false]) {
    for (const killed of [earlier, rolledBack, ...CASES])
      assert.equal(check(killed, killed.log, { hasIndex }).finding, null)
    assert.equal(check(earlier, Buffer.alloc(0), { hasIndex }).finding, null)
  }
})

test('damage to a log that is already in the database is harmless', () => {
  const killed = kill(6, 50, (writer) => writer.checkpointFrom(0))
  for (let frame = 0; frame < framesOf(killed.log) - 1; frame += 45) {
    const log = flipped(killed.log, frameAt(frame) + 500, 1)
    for (const hasIndex of [true, false]) {
      const { finding, transactions } = check(killed, log, { hasIndex })
      assert.deepEqual([finding?.outcome, transactions], ['mended', 50])
    }
  }
})

test('an interrupted repair is repeated, and a completed one is trusted', () => {
  const killed = caseOf(0)
  const path = newPath()
  writeFileSync(path, killed.database)
  writeFileSync(`${path}-wal`, flipped(killed.log, 20, 1))
  writeFileSync(`${path}-wal.mended`, 'half of it')
  assert.equal(checkLog(path, NOW_MS)?.outcome, 'mended')
  assert.ok(!existsSync(`${path}-wal.mended`))
  // the index of the damaged log, as after a power cut before its removal reached the disk
  writeFileSync(`${path}-shm`, killed.index)
  assert.equal(checkLog(path, NOW_MS), null)
  assert.equal(requireTransactions(path, killed.seed), killed.transactions)
})

test('the copies of the newest three damaged logs are kept', () => {
  const killed = caseOf(0)
  const path = newPath()
  writeFileSync(path, killed.database)
  for (let day = 1; day <= 5; day++) {
    writeFileSync(`${path}-wal`, flipped(killed.log, 20, 1))
    utimesSync(`${path}-wal`, new Date(), new Date(Date.UTC(2026, 4, day)))
    checkLog(path, NOW_MS)
  }
  const copies = readdirSync(join(path, '..')).filter((name) => name.includes('.damaged-'))
  assert.deepEqual(
    copies.sort(),
    [3, 4, 5].map((day) => `cartbarn.db-wal.damaged-2026-05-0${day}T000000.000Z`),
  )
})

test('a log that cannot be read is reported', () => {
  const path = newPath()
  copyFileSync(import.meta.filename, path)
  mkdirSync(`${path}-wal`)
  assert.throws(() => checkLog(path, NOW_MS), /write-ahead log .*cannot be checked/)
})
