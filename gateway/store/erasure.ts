import { type BlankedEvent, blankStrings } from '#shared/wire/blanks.ts'
import type { Connection } from './db/connection.ts'
import { addNote } from './ledger/notes.ts'

/** Whom or what nothing is to be kept of. */
export type ErasedSubject = { person: string } | { code: string }

/** Up to where an erasure has looked. */
export interface ErasurePosition {
  table: 'lock_event' | 'command'
  seq: number
}

export interface ErasureStep {
  lockEvents: number
  commands: number
  /** Values of metadata and params. */
  metadata: number
  /** Where the next step goes on; null when all was looked at. */
  after: ErasurePosition | null
}

/** How far a step looks: some milliseconds. */
const STEP_SEQS = 1000
/** Lock events in one note to the head office. */
const NOTED_ROWS = 50

// Only of an event without an id of the device's own the code is part of the identity. The others keep theirs: a device
// that had no acknowledgement sends the event again, and would bring the code back.
const BLANK_CODE = `UPDATE lock_event SET code = NULL,
    identity = iif(identity LIKE 'at:%' OR substr(identity, instr(identity, ' ') + 1, 3) = 'at:',
      'erased:' || event_id, identity)
  WHERE seq = ?`

/**
 * Blanks a code, or the values that are a person's name whatever its case, in some lock events and then commands behind
 * `after`, and tells the head office. What is overwritten is not left in the pages of the file.
 */
export function eraseStep(
  connection: Connection,
  input: { subject: ErasedSubject; after: ErasurePosition | null; nowMs: number },
): ErasureStep {
  const after = input.after ?? { table: 'lock_event', seq: 0 }
  // every page that is freed is overwritten too, which is too dear for what devices send
  connection.db.pragma('secure_delete = ON')
  try {
    return after.table === 'lock_event'
      ? eraseLockEvents(connection, input.subject, after.seq, input.nowMs)
      : eraseCommands(connection, input.subject, after.seq)
  } finally {
    connection.db.pragma('secure_delete = FAST')
  }
}

function eraseLockEvents(
  connection: Connection,
  subject: ErasedSubject,
  afterSeq: number,
  nowMs: number,
): ErasureStep {
  const fromSeq = firstSeq(connection, 'lock_event', afterSeq)
  if (fromSeq === null)
    return { lockEvents: 0, commands: 0, metadata: 0, after: { table: 'command', seq: 0 } }
  const rows = connection.all<{ seq: number; eventId: string; code: string | null; metadata: string | null }>(
    `SELECT seq, event_id AS eventId, code, metadata FROM lock_event WHERE seq >= ? AND seq < ?
       AND (code IS NOT NULL OR metadata IS NOT NULL) ORDER BY seq`,
    ...[fromSeq, fromSeq + STEP_SEQS],
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
  tellHeadOffice(connection, blanked, nowMs)
  const after: ErasurePosition = { table: 'lock_event', seq: fromSeq + STEP_SEQS - 1 }
  return { lockEvents: blanked.length, commands: 0, metadata: values, after }
}

// Commands are sent again whenever they change.
function eraseCommands(connection: Connection, subject: ErasedSubject, afterSeq: number): ErasureStep {
  const fromSeq = firstSeq(connection, 'command', afterSeq)
  if (fromSeq === null) return { lockEvents: 0, commands: 0, metadata: 0, after: null }
  const rows = connection.all<{ seq: number; params: string; metadata: string | null; isOver: number }>(
    `SELECT seq, params, metadata, status NOT IN ('pending', 'published', 'acknowledged') AS isOver
     FROM command WHERE seq >= ? AND seq < ? ORDER BY seq`,
    ...[fromSeq, fromSeq + STEP_SEQS],
  )
  let [commands, values] = [0, 0]
  for (const { seq, params, metadata, isOver } of rows) {
    const inMetadata = blank(metadata, subject)
    // what is still to be sent stays as it was asked for
    const inParams = isOver === 1 ? blank(params, subject) : { text: params, paths: [] }
    const count = inMetadata.paths.length + inParams.paths.length
    if (count === 0) continue
    const sql = 'UPDATE command SET params = ?, metadata = ? WHERE seq = ?'
    connection.run(sql, inParams.text, inMetadata.text, seq)
    commands++
    values += count
  }
  const after: ErasurePosition = { table: 'command', seq: fromSeq + STEP_SEQS - 1 }
  return { lockEvents: 0, commands, metadata: values, after }
}

function firstSeq(connection: Connection, table: 'lock_event' | 'command', afterSeq: number): number | null {
  const sql = `SELECT seq FROM ${table} WHERE seq > ? ORDER BY seq LIMIT 1`
  return connection.get<{ seq: number }>(sql, afterSeq)?.seq ?? null
}

/** JSON in which every string that is the subject is empty, and where those were. */
function blank(
  json: string | null,
  subject: ErasedSubject,
): { text: string | null; paths: BlankedEvent['metadata'] } {
  if (json === null) return { text: null, paths: [] }
  const isSubject =
    'code' in subject
      ? (text: string) => text === subject.code
      : (text: string) => folded(text) === folded(subject.person)
  const { value, paths } = blankStrings(JSON.parse(json), isSubject)
  return { text: paths.length === 0 ? json : JSON.stringify(value), paths }
}

function folded(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}

// Only where something was, not what: a note is kept.
function tellHeadOffice(connection: Connection, blanked: readonly BlankedEvent[], nowMs: number): void {
  for (let i = 0; i < blanked.length; i += NOTED_ROWS) {
    const body = { lock_events: blanked.slice(i, i + NOTED_ROWS) }
    addNote(connection, { kind: 'blank', atMs: nowMs, body })
  }
}
