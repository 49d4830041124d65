import assert from 'node:assert/strict'
import fs, {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { createLog } from '#shared/log.ts'
import { createRandom } from '#shared/random.ts'
import { silently } from '#testing/silently.ts'
import { PageSums } from './page-sums.ts'

const PAGE_BYTES = 4096
const ROWS = 3000
const LONG = 'a long text '.repeat(1000)

/** Database with a table, an index and texts that fill many pages; `sums` as a gateway keeps them. */
class Kept {
  readonly path: string
  sums: PageSums
  db: Database.Database

  constructor(path: string) {
    this.path = path
    this.sums = this.#prepared()
    this.db = this.#opened()
  }

  fill(): void {
    this.db.exec('CREATE TABLE note (id INTEGER PRIMARY KEY, name TEXT, text TEXT)')
    this.db.exec('CREATE INDEX note_by_name ON note (name)')
    const insert = this.db.prepare('INSERT INTO note (name, text) VALUES (?, ?)')
    this.db.transaction(() => {
      for (let i = 0; i < ROWS; i++) insert.run(`name ${i}`, i % 100 === 0 ? `${i} ${LONG}` : `text ${i}`)
    })()
  }

  stop(): void {
    this.db.close()
    this.sums.closed()
  }

  start(): void {
    this.sums = this.#prepared()
    this.db = this.#opened()
  }

  /** Reads everything in the database; throws the error of the first page with a wrong checksum. */
  readAll(): unknown {
    const rows = [
      this.db.prepare('SELECT id, name, text FROM note ORDER BY id').all(),
      this.db.prepare('SELECT name FROM note INDEXED BY note_by_name ORDER BY name').all(),
    ]
    const found = this.db.pragma('integrity_check', { simple: true })
    if (found !== 'ok') throw new Error(String(found))
    return rows
  }

  /** Copies the files as a kill leaves them, with the log. */
  killed(folder: string): string {
    const path = join(folder, 'killed.db')
    for (const end of ['', '-wal', '-sums']) copyFileSync(this.path + end, path + end)
    return path
  }

  #prepared(): PageSums {
    const sums = new PageSums(this.path, createLog('silent'))
    sums.prepare()
    return sums
  }

  #opened(): Database.Database {
    const db = new Database(this.path)
    try {
      db.pragma('auto_vacuum = INCREMENTAL')
      db.pragma('journal_mode = WAL')
      this.sums.opened()
      return db
    } catch (error) {
      db.close()
      throw error
    }
  }
}

function keep(t: TestContext): { kept: Kept; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-sums-'))
  const kept = new Kept(join(folder, 'kept.db'))
  t.after(() => {
    kept.db.close()
    rmSync(folder, { recursive: true, force: true })
  })
  kept.fill()
  return { kept, folder }
}

/** Changes the file as another program would that does not know checksums: Node has an SQLite of its own. */
function asOther(path: string, sql: string): void {
  const other = new DatabaseSync(path)
  other.exec(sql)
  other.close()
}

/** Simulates a disk that returns other content: the file system shows the time of the last write. */
function writeAsAt(path: string, content: Buffer, mtimeMs: number): void {
  writeFileSync(path, content)
  utimesSync(path, mtimeMs / 1000, mtimeMs / 1000)
}

function entriesOf(path: string): number {
  return (statSync(`${path}-sums`).size - 512) / 16
}

function flip(file: Buffer, bit: number): void {
  file[bit >> 3] = (file[bit >> 3] ?? 0) ^ (1 << (bit & 7))
}

test('overwritten and deleted content remains in no unused part of a page, wherever rows were moved', (t) => {
  const { kept } = keep(t)
  const { db } = kept
  const random = createRandom('gaps')
  const shuffled = Array.from({ length: 4000 }, (_, i) => i).sort(() => random.next() - 0.5)
  db.pragma('secure_delete = ON')
  db.exec('CREATE TABLE secret (id INTEGER PRIMARY KEY, name TEXT UNIQUE)')
  const insert = db.prepare('INSERT INTO secret VALUES (?, ?)')
  const update = db.prepare('UPDATE secret SET name = ? WHERE id = ?')
  const remove = db.prepare('DELETE FROM secret WHERE id = ?')
  for (const id of shuffled) insert.run(id, `${(id * 7919) % 4000} SECRET ${'*'.repeat(id % 300)}`)
  for (const id of shuffled.slice(0, 3000)) update.run(`${id}`, id)
  for (const id of shuffled.slice(3000)) remove.run(id)
  db.pragma('wal_checkpoint(TRUNCATE)')
  assert.ok(!readFileSync(kept.path).includes('SECRET'))
  kept.readAll()
})

test('a bit, or a sector or page of zeros or noise, is an error, and never yields wrong data', (t) => {
  const { kept } = keep(t)
  const right = kept.readAll()
  kept.stop()
  const good = readFileSync(kept.path)
  const { mtimeMs } = statSync(kept.path)
  const sums = readFileSync(`${kept.path}-sums`)
  const damage = fc.record({
    at: fc.nat(good.length - 1),
    kind: fc.constantFrom('bit', 'sector', 'page', 'noise'),
    noise: fc.uint8Array({ minLength: PAGE_BYTES, maxLength: PAGE_BYTES }),
  })
  fc.assert(
    fc.property(damage, ({ at, kind, noise }) => {
      const file = Buffer.from(good)
      const page = at - (at % PAGE_BYTES)
      if (kind === 'bit') file[at] = (file[at] ?? 0) ^ (1 << (at % 8))
      else if (kind === 'sector') file.fill(0, at - (at % 512), at - (at % 512) + 512)
      else if (kind === 'page') file.fill(0, page, page + PAGE_BYTES)
      else file.set(noise, page)
      writeAsAt(kept.path, file, mtimeMs)
      writeFileSync(`${kept.path}-sums`, sums)
      let read: unknown
      try {
        kept.start()
        read = kept.readAll()
      } catch (error) {
        read = error
      }
      kept.stop()
      if (file.equals(good) || !(read instanceof Error)) assert.deepEqual(read, right)
    }),
    { numRuns: 150, endOnFailure: true },
  )
  writeAsAt(kept.path, good, mtimeMs)
  writeFileSync(`${kept.path}-sums`, sums)
  kept.start()
  assert.deepEqual(kept.readAll(), right)
})

test('a single flipped bit anywhere in the file is corrected for readers and in the file', (t) => {
  const { kept } = keep(t)
  const right = kept.readAll()
  kept.stop()
  const good = readFileSync(kept.path)
  const { mtimeMs } = statSync(kept.path)
  const sums = readFileSync(`${kept.path}-sums`)
  // also the first bytes, which SQLite checks before it reads the page
  const bits = fc.oneof(fc.nat(good.length * 8 - 1), fc.nat(100 * 8 - 1))
  fc.assert(
    fc.property(bits, (bit) => {
      const file = Buffer.from(good)
      flip(file, bit)
      writeAsAt(kept.path, file, mtimeMs)
      writeFileSync(`${kept.path}-sums`, sums)
      kept.start()
      const page = Math.floor(bit / 8 / PAGE_BYTES) + 1
      assert.deepEqual(kept.readAll(), right)
      assert.equal(kept.db.prepare('SELECT page_scan(1, 100000)').pluck().get(), '')
      const isChanged = page === 1
      // opening a database may rewrite its first page
      if (!isChanged) assert.equal(kept.db.prepare('SELECT pages_with_wrong_bit()').pluck().get(), String(page))
      const isPutRight = kept.db.prepare('SELECT page_put_right(?)').pluck().get(page)
      if (!isChanged) assert.equal(isPutRight, 1)
      assert.equal(kept.db.prepare('SELECT pages_with_wrong_bit()').pluck().get(), '')
      kept.stop()
      assert.ok(readFileSync(kept.path).subarray(PAGE_BYTES).equals(good.subarray(PAGE_BYTES)))
    }),
    { numRuns: 100, endOnFailure: true },
  )
})

test('a page with two wrong bits is not corrected', (t) => {
  const { kept } = keep(t)
  kept.stop()
  const [file, sums] = [readFileSync(kept.path), readFileSync(`${kept.path}-sums`)]
  kept.start()
  const wrongBit = kept.db.prepare('SELECT page_wrong_bit(?, ?, ?)').pluck()
  const pages = file.length / PAGE_BYTES
  const bit = fc.nat(PAGE_BYTES * 8 - 1)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: pages }), bit, bit, (page, one, other) => {
      const entry = sums.subarray(512 + (page - 1) * 16, 512 + page * 16)
      const content = Buffer.from(file.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES))
      assert.equal(wrongBit.get(content, page, entry), null)
      flip(content, one)
      assert.equal(wrongBit.get(content, page, entry), one)
      flip(content, other)
      assert.equal(wrongBit.get(content, page, entry), null)
    }),
    { numRuns: 2000 },
  )
})

test('a flipped page size bit in the header plus another one is an error, and no checksum is lost', (t) => {
  const { kept } = keep(t)
  const right = kept.readAll()
  kept.stop()
  const good = readFileSync(kept.path)
  const { mtimeMs } = statSync(kept.path)
  const sums = readFileSync(`${kept.path}-sums`)
  for (let bit = 0; bit < 16; bit++) {
    const file = Buffer.from(good)
    flip(file, 16 * 8 + bit)
    flip(file, 3000 * 8)
    writeAsAt(kept.path, file, mtimeMs)
    assert.throws(() => kept.start(), { name: 'SqliteError' })
    assert.deepEqual(readFileSync(`${kept.path}-sums`), sums)
  }
  writeAsAt(kept.path, good, mtimeMs)
  kept.start()
  assert.deepEqual(kept.readAll(), right)
})

test('a page that is never read as a row is found by the scan, which names it', (t) => {
  const { kept } = keep(t)
  kept.db.exec('DELETE FROM note WHERE id > 10')
  kept.stop()
  const file = readFileSync(kept.path)
  const page = file.length / PAGE_BYTES
  file[file.length - 5] = (file[file.length - 5] ?? 0) ^ 6
  silently(kept.path, () => writeFileSync(kept.path, file))
  kept.start()
  kept.db.prepare('SELECT count(*) FROM note').get()
  assert.deepEqual(kept.db.prepare('SELECT page_scan(1, 100000)').pluck().get(), String(page))
})

test('growing, deleting, freeing space and a vacuum leave a checksum for each page', (t) => {
  const { kept } = keep(t)
  for (const work of [
    'DELETE FROM note WHERE id % 3 = 0',
    'PRAGMA incremental_vacuum(20)',
    'INSERT INTO note (name, text) SELECT name, text FROM note',
    'DELETE FROM note WHERE id % 2 = 0',
    'VACUUM',
    'PRAGMA wal_checkpoint(TRUNCATE)',
  ]) {
    kept.db.exec(work)
    kept.readAll()
  }
  const right = kept.readAll()
  kept.stop()
  assert.equal(entriesOf(kept.path), statSync(kept.path).size / PAGE_BYTES)
  kept.start()
  assert.deepEqual(kept.readAll(), right)
  assert.equal(kept.db.prepare('SELECT page_scan(1, 100000)').pluck().get(), '')
})

test('a database without checksums gets them as it is read', (t) => {
  const { kept } = keep(t)
  kept.stop()
  rmSync(`${kept.path}-sums`)
  kept.start()
  const right = kept.readAll()
  kept.stop()
  const file = readFileSync(kept.path)
  file.set(Buffer.from('text 1238'), file.indexOf('text 1235'))
  silently(kept.path, () => writeFileSync(kept.path, file))
  kept.start()
  assert.throws(() => kept.readAll(), { code: 'SQLITE_IOERR_DATA' })
  assert.notEqual(right, undefined)
})

test('after a kill every page is readable with the existing checksums', (t) => {
  const { kept, folder } = keep(t)
  kept.db.pragma('wal_checkpoint(TRUNCATE)')
  kept.db.exec("UPDATE note SET text = 'changed' WHERE id % 5 = 0")
  const right = kept.readAll()
  const killed = new Kept(kept.killed(folder))
  t.after(() => killed.db.close())
  assert.ok(entriesOf(killed.path) > 100)
  assert.deepEqual(killed.readAll(), right)
  killed.db.pragma('wal_checkpoint(TRUNCATE)')
  assert.equal(killed.db.prepare('SELECT page_scan(1, 100000)').pluck().get(), '')
})

test('a power cut leaves the state that the checksums had since the start, or since the stop', (t) => {
  const { kept } = keep(t)
  const synced: string[] = []
  const sync = t.mock.method(fs, 'fsyncSync', (file: number) => {
    const state = Buffer.alloc(4)
    fs.readSync(file, state, 0, 4, 64)
    synced.push(state.toString())
  })
  syncBuiltinESMExports()
  t.after(() => {
    sync.mock.restore()
    syncBuiltinESMExports()
  })
  kept.stop()
  kept.start()
  assert.deepEqual(synced, ['shut', 'open'])
})

test('after a kill another program may open the database without causing a false alarm', (t) => {
  const { kept, folder } = keep(t)
  kept.db.pragma('wal_checkpoint(TRUNCATE)')
  kept.db.exec("UPDATE note SET text = 'changed' WHERE id % 5 = 0")
  const right = kept.readAll()
  const path = kept.killed(folder)
  asOther(path, 'SELECT count(*) FROM note')
  assert.equal(existsSync(`${path}-wal`), false)
  const killed = new Kept(path)
  t.after(() => killed.db.close())
  assert.deepEqual(killed.readAll(), right)
})

test('replacing the database with a backup does not cause a false alarm', (t) => {
  const { kept, folder } = keep(t)
  const backup = join(folder, 'backup.db')
  const right = kept.readAll()
  kept.stop()
  asOther(kept.path, `VACUUM INTO '${backup}'`)
  kept.start()
  kept.db.exec('DELETE FROM note WHERE id % 2 = 0')
  kept.db.exec('VACUUM')
  kept.stop()
  copyFileSync(backup, kept.path)
  kept.start()
  assert.deepEqual(kept.readAll(), right)
})

test('damage to the checksums does not make a page invalid, and they are written again', (t) => {
  const { kept } = keep(t)
  const right = kept.readAll()
  kept.stop()
  for (const spoil of [
    (sums: Buffer) => sums.fill(0),
    (sums: Buffer) => sums.fill(0, 512),
    (sums: Buffer) => sums.fill(0xa5, 600, 900),
    (sums: Buffer) => sums.copy(sums, 512, 528),
    (sums: Buffer) => {
      for (let at = 512; at < sums.length; at += 16) sums[at + (at % 7)] = (sums[at + (at % 7)] ?? 0) ^ 16
    },
    (sums: Buffer) => sums.subarray(0, 700),
  ]) {
    const good = readFileSync(`${kept.path}-sums`)
    const sums = Buffer.from(good)
    const spoilt = spoil(sums)
    writeFileSync(`${kept.path}-sums`, Buffer.isBuffer(spoilt) ? spoilt : sums)
    kept.start()
    assert.deepEqual(kept.readAll(), right)
    kept.stop()
    // each start writes to the first page
    assert.deepEqual(readFileSync(`${kept.path}-sums`).subarray(528), good.subarray(528))
  }
  kept.start()
})

test('replacing the database with an older copy, alike except a few pages, makes no page invalid', (t) => {
  const { kept } = keep(t)
  kept.stop()
  const before = readFileSync(kept.path)
  kept.start()
  const right = kept.readAll()
  kept.db.exec("UPDATE note SET text = 'another' WHERE id = 7")
  kept.stop()
  // not within the millisecond of the last write
  writeAsAt(kept.path, before, statSync(kept.path).mtimeMs + 1000)
  kept.start()
  assert.deepEqual(kept.readAll(), right)
  assert.equal(kept.db.prepare('SELECT page_scan(1, 100000)').pluck().get(), '')
})
