import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { countsOf } from '#shared/course/course.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import { Connection } from '../db/connection.ts'
import { forkEpoch, syncCursors } from '../ledger/cursors.ts'
import { migrate } from '../migrate.ts'
import { putEntity } from '../rebuild/rows.ts'
import { acknowledge, adoptCursors } from '../replication/acknowledge.ts'
import { countRows } from '../replication/backlog.ts'
import { nextRows } from '../replication/rows-part.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import {
  contentHash,
  courseImage,
  coursePhoto,
  courseRow,
  dropIncompleteContent,
  saveCourse,
  saveCoursePhoto,
} from './course.ts'
import { countUnqueuedChunks, PIECE_BYTES, queueAllChunks } from './course-chunks.ts'

/** Last schema that stored the image as a whole. */
const WHOLE_IMAGE = 28
const [CORNER, LIMITS] = [
  { lat: 1, long: 2 },
  { bytes: 1 << 20, rows: 20_000 },
]
const PIECES = 5
/** The last chunk is a short one. */
const IMAGE = randomBytes(PIECE_BYTES * (PIECES - 1) + 7)

function open(t: TestContext, schema?: number): Connection {
  const connection = new Connection(new Database(':memory:'))
  migrate(connection, schema)
  t.after(() => connection.close())
  return connection
}

function placed(image: Uint8Array) {
  const photo = { contentType: 'image/png' as const, hash: contentHash(image), bytes: image.length }
  return { ...photo, corners: [CORNER, CORNER, CORNER, CORNER] as const, image }
}

function drawn(version: number, packedFeatures = 'small') {
  return { version, attribution: null, packedFeatures, nowMs: version, counts: countsOf([]) }
}

interface Sent {
  table: string
  key: string
  body: Record<string, unknown> | null
}

/** Next rows that the hub gets; they are not acknowledged. */
function sent(connection: Connection, after = syncCursors(connection).entities.seq) {
  // it reads nothing else
  const part = nextRows({ connection } as unknown as ReaderTools, {
    stream: 'entities',
    after,
    limits: LIMITS,
  })
  if (part === null) return { rows: [], to: after, bytes: 0 }
  const rows: Sent[] = JSON.parse(Buffer.from(part.data).toString())
  return { rows, to: part.to, bytes: part.data.length }
}

/** Sends all rows in batches; `onPart` gets each before it is acknowledged. Returns the rows of the hub. */
function drain(connection: Connection, there = new Map<string, Sent>(), onPart = (_: Sent[]) => {}) {
  for (;;) {
    const { rows, to } = sent(connection)
    if (rows.length === 0) return there
    onPart(rows)
    for (const row of rows) {
      if (row.body === null) there.delete(`${row.table} ${row.key}`)
      else there.set(`${row.table} ${row.key}`, row)
    }
    acknowledge(connection, { cursors: { entities: { seq: to, hash: 'a'.repeat(64) } } })
  }
}

/** Content that a hub joins from the chunks of a name. */
function contentAt(there: ReadonlyMap<string, Sent>, hash: string): Buffer {
  const pieces = [...there.values()].filter(({ key }) => key.startsWith(`${hash}/`))
  pieces.sort((a, b) => (a.key < b.key ? -1 : 1))
  return Buffer.concat(pieces.map(({ body }) => Buffer.from(String(body?.bytes), 'base64')))
}

const isPiece = ({ table }: Sent) => table === 'course_piece'
const waiting = (connection: Connection) =>
  // it reads nothing else
  countRows({ connection } as unknown as ReaderTools, {
    stream: 'entities',
    after: syncCursors(connection).entities.seq,
  }).rows

test('a photo is sent to the head office in chunks, and other changes do not wait for it', (t) => {
  const connection = open(t)
  drain(connection)
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(1) })
  assert.equal(waiting(connection), 1 + PIECES)
  let parts = 0
  const there = drain(connection, undefined, (rows) => {
    assert.ok(rows.filter(isPiece).length <= 1, 'a piece a request')
    if (parts > 0)
      assert.deepEqual(
        rows.map(({ table }) => table),
        parts === 1 ? ['course_piece'] : ['device_group', 'course_piece'],
        'what came during the request before goes with this one',
      )
    if (parts > 0 && parts < PIECES)
      connection.run('INSERT INTO device_group (name, created_at_ms, updated_at_ms) VALUES (?, 1, 1)', `${parts}`)
    parts++
  })
  assert.equal(parts, 1 + PIECES)
  assert.equal(waiting(connection), 0)
  const { body } = there.get('course site') ?? assert.fail()
  assert.deepEqual(body?.photo, {
    hash: contentHash(IMAGE),
    bytes: IMAGE.length,
    pieces: PIECES,
    content_type: 'image/png',
    corners: [CORNER, CORNER, CORNER, CORNER],
  })
  assert.deepEqual(contentAt(there, contentHash(IMAGE)), IMAGE)
})

test('changing or restoring a photo during its transfer leaves no chunks of the other on either side', (t) => {
  const connection = open(t)
  const [first, second] = [IMAGE, randomBytes(PIECE_BYTES * 3)]
  saveCoursePhoto(connection, { photo: placed(first), course: drawn(1) })
  const there = new Map<string, Sent>()
  for (const [n, image] of [second, first, second, second].entries()) {
    let parts = 0
    try {
      drain(connection, there, () => {
        if (++parts === 4) throw new Error('changed here')
      })
    } catch {
      // the batch in progress is read again
    }
    saveCoursePhoto(connection, { photo: placed(image), course: drawn(2 + n) })
  }
  drain(connection, there)
  assert.deepEqual(contentAt(there, contentHash(second)), second)
  assert.equal([...there.values()].filter(isPiece).length, 3)
  assert.deepEqual(courseImage({ connection }, placed(second)), new Uint8Array(second))
  assert.equal(connection.all('SELECT 1 FROM course_piece').length, 3)

  saveCoursePhoto(connection, { photo: null, course: drawn(9) })
  drain(connection, there)
  assert.deepEqual([...there.values()].filter(isPiece), [])
  assert.equal(there.get('course site')?.body?.photo, null)
  // and no permanent note of the deleted rows
  assert.deepEqual(connection.all(`SELECT key FROM change_log WHERE entity = 'course_piece'`), [])
})

test('a photo that is only moved is not sent again', (t) => {
  const connection = open(t)
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(1) })
  const there = drain(connection)
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(2) })
  drain(connection, there, (rows) => assert.deepEqual(rows.filter(isPiece), []))
  assert.deepEqual(contentAt(there, contentHash(IMAGE)), IMAGE)
})

test('without a head office, or after removing it, changed photos do not accumulate chunks', (t) => {
  const connection = open(t)
  const notes = () => connection.all(`SELECT key FROM change_log WHERE entity = 'course_piece'`).length
  const change = (version: number) =>
    saveCoursePhoto(connection, { photo: placed(randomBytes(PIECE_BYTES * 3)), course: drawn(version) })
  for (let n = 1; n <= 10; n++) change(n)
  assert.equal(notes(), 0)
  // it was sent two chunks, and nothing is acknowledged from then on
  let parts = 0
  assert.throws(() => drain(connection, undefined, () => assert.ok(++parts < 3)))
  for (let n = 11; n <= 20; n++) change(n)
  assert.equal(notes(), 2)
  assert.equal(connection.all('SELECT 1 FROM course_piece').length, 3)
  const last = coursePhoto(connection) ?? assert.fail()
  const image = courseImage({ connection }, last) ?? assert.fail()
  assert.deepEqual(contentAt(drain(connection), last.hash), Buffer.from(image))
})

test('a head office that lost chunks, and another epoch, get all chunks', (t) => {
  const connection = open(t)
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(1) })
  let cursor = NO_CURSOR
  drain(connection, undefined, () => {
    cursor = syncCursors(connection).entities
  })
  adoptCursors(connection, { cursors: { ...syncCursors(connection), entities: cursor } })
  assert.equal(drain(connection).size, 1, 'the last piece again')
  forkEpoch(connection, { reason: 'restored' })
  assert.deepEqual(contentAt(drain(connection), contentHash(IMAGE)), IMAGE)
})

test('an export file has all chunks', (t) => {
  const connection = open(t)
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(1) })
  queueAllChunks(connection, {})
  assert.equal(sent(connection).rows.filter(isPiece).length, PIECES)
  assert.equal(countUnqueuedChunks(connection), 0)
})

test('a course map is sent whole up to 900 KB, and in chunks beyond that', (t) => {
  const connection = open(t)
  const [small, large] = ['x'.repeat(900_000), 'y'.repeat(900_001)]
  saveCourse(connection, drawn(1, small))
  const there = drain(connection)
  assert.deepEqual([there.get('course site')?.body?.sent, there.get('course site')?.body?.drawing], [small, null])
  saveCourse(connection, drawn(2, large))
  drain(connection, there)
  const { body } = there.get('course site') ?? assert.fail()
  assert.equal(body?.sent, null)
  const { hash } = Object(body?.drawing)
  assert.equal(contentAt(there, hash).toString(), large)
  assert.equal(courseRow(connection)?.packedFeatures, large)
  saveCourse(connection, drawn(3, small))
  assert.deepEqual([...drain(connection, there).values()].filter(isPiece), [])
})

test('a photo with a lost chunk is not returned', (t) => {
  const connection = open(t)
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(1) })
  assert.notEqual(coursePhoto(connection), null)
  connection.run('DELETE FROM course_piece WHERE number = 2')
  assert.equal(coursePhoto(connection), null)
  assert.equal(courseImage({ connection }, placed(IMAGE)), null)
})

test('a photo and a large course map stored before chunking keep their bytes and are sent', (t) => {
  const connection = open(t, WHOLE_IMAGE)
  const large = 'z'.repeat(1_000_000)
  connection.run('INSERT INTO course VALUES (1, 7, ?, ?, 5)', 'Golf Ltd', large)
  connection.run(
    'INSERT INTO course_photo VALUES (1, ?, ?, ?, ?, ?)',
    'image/png',
    JSON.stringify([CORNER, CORNER, CORNER, CORNER]),
    'f'.repeat(32),
    IMAGE.length,
    IMAGE,
  )
  migrate(connection)
  assert.deepEqual(courseRow(connection), { version: 7, attribution: 'Golf Ltd', packedFeatures: large })
  const photo = coursePhoto(connection) ?? assert.fail()
  assert.deepEqual(courseImage({ connection }, photo), new Uint8Array(IMAGE))
  const there = drain(connection)
  const { body } = there.get('course site') ?? assert.fail()
  assert.deepEqual(contentAt(there, Object(body?.photo).hash), IMAGE)
  assert.equal(contentAt(there, Object(body?.drawing).hash).toString(), large)
})

test('rows of a head office restore the photo and map byte for byte, or not at all if incomplete', (t) => {
  const connection = open(t)
  const large = 'y'.repeat(1_000_000)
  saveCourse(connection, drawn(1, large))
  saveCoursePhoto(connection, { photo: placed(IMAGE), course: drawn(2, large) })
  const rows = [...drain(connection).values()]
  const madeOf = (some: readonly Sent[]) => {
    const made = open(t)
    // in any order, and twice
    for (const { table, key, body } of [...some, ...some.toReversed()])
      if (body !== null) putEntity(made, { table, key, body })
    dropIncompleteContent(made)
    return made
  }
  const whole = madeOf(rows)
  const all = (of: Connection, table: string) => of.all(`SELECT * FROM ${table} ORDER BY 1, 2`)
  for (const table of ['course', 'course_photo', 'course_piece'])
    assert.deepEqual(all(whole, table), all(connection, table), table)
  assert.equal(countUnqueuedChunks(whole), 0)

  const photo = contentHash(IMAGE)
  const noPhoto = madeOf(rows.filter(({ key }) => key !== `${photo}/0002`))
  assert.deepEqual([coursePhoto(noPhoto), courseRow(noPhoto)?.packedFeatures], [null, large])
  assert.equal(noPhoto.get('SELECT 1 FROM course_piece WHERE hash = ?', photo), undefined)
  const noDrawing = madeOf(rows.filter(({ key }) => key.startsWith(photo) || !key.endsWith('/0001')))
  assert.deepEqual([courseRow(noDrawing)?.version, coursePhoto(noDrawing)?.hash], [2, photo])
  assert.equal(gunzipSync(Buffer.from(courseRow(noDrawing)?.packedFeatures ?? '', 'base64')).toString(), '[]')
})
