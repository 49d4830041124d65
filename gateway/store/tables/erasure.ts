import { blankStrings } from '#shared/blank-strings.ts'
import type { BlankedEvent } from '#shared/wire/schema/blanks.ts'
import { event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { addNote } from '../ledger/notes.ts'
import { TABLES } from './all.ts'

/** Person or code to erase. */
export type ErasedSubject = { person: string } | { code: string }

/** Table in which an erasure searches for persons and codes. */
interface SearchedTable {
  readonly table: string
  readonly json: readonly string[]
  readonly texts: readonly string[]
}

/**
 * Tables that may name persons and codes, in addition to lock events and commands. Their triggers enter each change in
 * the change log; components that hold their rows in memory listen to the event `erased`.
 */
const OTHERS: readonly SearchedTable[] = [...TABLES.values()].flatMap(({ name, erases }) =>
  erases === undefined ? [] : [{ table: name, json: erases.json ?? [], texts: erases.texts ?? [] }],
)

/** In the order of the search. */
const SEARCHED = ['lock_event', 'command', ...OTHERS.map(({ table }) => table)]

/** Position up to which an erasure has searched. */
export interface ErasurePosition {
  table: string
  seq: number
}

export interface ErasureResult {
  lockEvents: number
  commands: number
  /** Values of metadata and params. */
  metadata: number
  /** Values in other tables. */
  other: number
}

export interface ErasureStep extends ErasureResult {
  /** Start of the next step; null at the end of the search. */
  after: ErasurePosition | null
  /** Table in which values counted in `other` were blanked; null if none. */
  otherTable: string | null
}

/** Sequence numbers searched in one step, which takes some milliseconds. */
const STEP_SEQS = 1000
/** Maximum number of lock events in one note to the hub. */
const NOTED_ROWS = 50

const NOTHING: ErasureResult = { lockEvents: 0, commands: 0, metadata: 0, other: 0 }

// The code is part of the identity only for an event without an id of the device. Other events keep their identity: a
// device that received no acknowledgement sends the event again, and would bring the code back.
const BLANK_CODE = `UPDATE lock_event SET code = NULL,
    identity = iif(identity LIKE 'at:%' OR substr(identity, instr(identity, ' ') + 1, 3) = 'at:',
      'erased:' || event_id, identity)
  WHERE seq = ?`

/**
 * Blanks a code, or all values that are a person's name (ignoring case), in some rows after `after`, and notes it for
 * the hub. Overwritten content does not remain in the pages of the file.
 */
export const eraseStep = write(
  (
    connection: Connection,
    input: { subject: ErasedSubject; after: ErasurePosition | null; nowMs: number },
  ): ErasureStep => {
    const { table, seq } = input.after ?? { table: 'lock_event', seq: 0 }
    const fromSeq = firstSeq(connection, table, seq)
    if (fromSeq === null) return { ...NOTHING, after: beginningBehind(table), otherTable: null }
    const other = OTHERS.find((searched) => searched.table === table)
    // also overwrites every freed page, which is too slow for messages of devices
    connection.db.pragma('secure_delete = ON')
    try {
      const after = { table, seq: fromSeq + STEP_SEQS - 1 }
      if (other !== undefined) {
        const values = eraseOthers(connection, input.subject, other, fromSeq)
        return { ...NOTHING, other: values, after, otherTable: values === 0 ? null : other.table }
      }
      const erased =
        table === 'command'
          ? eraseCommands(connection, input.subject, fromSeq)
          : eraseLockEvents(connection, input.subject, fromSeq, input.nowMs)
      return { ...NOTHING, ...erased, after, otherTable: null }
    } finally {
      connection.db.pragma('secure_delete = FAST')
    }
  },
  {
    // the entry must not contain the person or code either
    audit:
      (_, { subject, after }) =>
      () =>
        after === null ? [event('erasure.created', 'code' in subject ? 'code' : 'person', null)] : [],
  },
)

/** Start of the table that is searched next; null after the last. */
function beginningBehind(table: string): ErasurePosition | null {
  const next = SEARCHED[SEARCHED.indexOf(table) + 1]
  return next === undefined ? null : { table: next, seq: 0 }
}

function firstSeq(connection: Connection, table: string, afterSeq: number): number | null {
  // tables with a seq use it as their rowid
  const sql = `SELECT rowid AS seq FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT 1`
  return connection.get<{ seq: number }>(sql, afterSeq)?.seq ?? null
}

function eraseLockEvents(
  connection: Connection,
  subject: ErasedSubject,
  fromSeq: number,
  nowMs: number,
): Partial<ErasureResult> {
  const rows = connection.all<{ seq: number; eventId: string; code: string | null; metadata: string | null }>(
    `SELECT seq, event_id, code, metadata FROM lock_event WHERE seq >= ? AND seq < ?
       AND (code IS NOT NULL OR metadata IS NOT NULL) ORDER BY seq`,
    fromSeq,
    fromSeq + STEP_SEQS,
  )
  const blanked: BlankedEvent[] = []
  let values = 0
  for (const { seq, eventId, code, metadata } of rows) {
    const { text, paths } = blank(metadata, subject)
    const isCode = 'code' in subject && code === subject.code
    if (paths.length === 0 && !isCode) continue
    connection.run('UPDATE lock_event SET metadata = ? WHERE seq = ?', text, seq)
    if (isCode) connection.run(BLANK_CODE, seq)
    blanked.push({ event_id: eventId, code: isCode, metadata: paths })
    values += paths.length
  }
  noteForHub(connection, blanked, nowMs)
  return { lockEvents: blanked.length, metadata: values }
}

// Changed commands are sent again automatically.
function eraseCommands(connection: Connection, subject: ErasedSubject, fromSeq: number): Partial<ErasureResult> {
  const rows = connection.all<{ seq: number; params: string; metadata: string | null; isOver: number }>(
    `SELECT seq, params, metadata, status NOT IN ('pending', 'published', 'acknowledged') AS isOver
     FROM command WHERE seq >= ? AND seq < ? ORDER BY seq`,
    fromSeq,
    fromSeq + STEP_SEQS,
  )
  let [commands, values] = [0, 0]
  for (const { seq, params, metadata, isOver } of rows) {
    const inMetadata = blank(metadata, subject)
    // an unfinished command keeps the params of its request
    const inParams = isOver === 1 ? blank(params, subject) : { text: params, paths: [] }
    const count = inMetadata.paths.length + inParams.paths.length
    if (count === 0) continue
    const sql = 'UPDATE command SET params = ?, metadata = ? WHERE seq = ?'
    connection.run(sql, inParams.text, inMetadata.text, seq)
    commands++
    values += count
  }
  return { commands, metadata: values }
}

/** Returns the number of blanked values. */
function eraseOthers(
  connection: Connection,
  subject: ErasedSubject,
  { table, json, texts }: SearchedTable,
  fromSeq: number,
): number {
  const columns = [...json, ...texts]
  const rows = connection
    .statement<Record<string, string | null> & { seq: number }>(
      `SELECT rowid AS seq, ${columns.join(', ')} FROM ${table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid`,
    )
    .all(fromSeq, fromSeq + STEP_SEQS)
  let values = 0
  for (const { seq, ...row } of rows) {
    const blanked = columns.map((column) => {
      const text = row[column] ?? null
      return json.includes(column) ? blank(text, subject) : blankText(text, subject)
    })
    const count = blanked.reduce((sum, { paths }) => sum + paths.length, 0)
    if (count === 0) continue
    const set = columns.map((column) => `${column} = ?`).join(', ')
    connection.run(`UPDATE ${table} SET ${set} WHERE rowid = ?`, ...blanked.map(({ text }) => text), seq)
    values += count
  }
  return values
}

interface Blanked {
  text: string | null
  paths: BlankedEvent['metadata']
}

/** Replaces every string that matches the subject by an empty one, and returns the paths of those strings. */
function blank(json: string | null, subject: ErasedSubject): Blanked {
  if (json === null) return { text: null, paths: [] }
  const { value, paths } = blankStrings(JSON.parse(json), (text) => isSubject(text, subject))
  return { text: paths.length === 0 ? json : JSON.stringify(value), paths }
}

function blankText(text: string | null, subject: ErasedSubject): Blanked {
  return text !== null && isSubject(text, subject) ? { text: '', paths: [[]] } : { text, paths: [] }
}

function isSubject(text: string, subject: ErasedSubject): boolean {
  return 'code' in subject ? text === subject.code : folded(text) === folded(subject.person)
}

function folded(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}

// Notes only the paths, not the content, because a note is kept.
function noteForHub(connection: Connection, blanked: readonly BlankedEvent[], nowMs: number): void {
  for (let i = 0; i < blanked.length; i += NOTED_ROWS) {
    const body = { lock_events: blanked.slice(i, i + NOTED_ROWS) }
    addNote(connection, { kind: 'blank', atMs: nowMs, body })
  }
}
