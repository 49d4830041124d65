import { ConflictError } from '#shared/errors.ts'
import type { MailReportFields } from '#shared/wire/notifiers.ts'
import { differences, event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const mailReportTable = table('mail_report', {
  care: {
    what: 'the reports by e-mail',
    isRemembered: true,
    meaning: 'Missing reports are not sent until an admin creates them again.',
  },
  erases: { texts: ['recipient'] },
})

/** Report that is sent to one address. */
export interface MailReportRow extends MailReportFields {
  reportId: string
  createdAtMs: number
  /** Newest day or month that needs no mail any more. */
  doneFor: string
  lastSentAtMs: number | null
  /** Newest day or month that was sent. */
  lastFor: string | null
  lastError: string | null
  /** Id of a test that is not sent yet. */
  testId: string | null
}

const MOST = 20
const COLUMNS = `report_id, recipient, report, at, language, created_at_ms, done_for, last_sent_at_ms, last_for,
  last_error, test_id`

/** Reports by time of creation. */
export function listMailReports(connection: Connection): MailReportRow[] {
  return connection.all(`SELECT ${COLUMNS} FROM mail_report ORDER BY seq`)
}

/** Throws `too_many_reports`. */
export const createMailReport = write(
  (connection: Connection, row: MailReportRow): null => {
    if (listMailReports(connection).length >= MOST)
      throw new ConflictError('too_many_reports', `there are ${MOST} reports by e-mail: delete one first`)
    const { reportId, recipient, report, at, language, createdAtMs, doneFor } = row
    const sql = `INSERT INTO mail_report (report_id, recipient, report, at, language, created_at_ms, done_for)
      VALUES (?, ?, ?, ?, ?, ?, ?)`
    connection.run(sql, reportId, recipient, report, at, language, createdAtMs, doneFor)
    return null
  },
  { audit: (_, row) => () => [event('mail_report.created', row.reportId, entryOf(row))] },
)

/** Writes the fields that an admin may change. */
export const updateMailReport = write(
  (connection: Connection, { reportId, recipient, report, at, language, doneFor }: MailReportRow): null => {
    const sql =
      'UPDATE mail_report SET recipient = ?, report = ?, at = ?, language = ?, done_for = ? WHERE report_id = ?'
    connection.run(sql, recipient, report, at, language, doneFor, reportId)
    return null
  },
  {
    audit: (connection, row) => {
      const known = find(connection, row.reportId)
      return () => {
        const [before, after] = differences(known === undefined ? null : entryOf(known), entryOf(row))
        return after === null ? [] : [{ action: 'mail_report.updated', target: row.reportId, before, after }]
      }
    },
  },
)

/** Records what became of a mail. */
export const noteMailReport = write(
  (connection: Connection, row: MailReportRow): null => {
    const { reportId, doneFor, lastSentAtMs, lastFor, lastError, testId } = row
    const sql = `UPDATE mail_report SET done_for = ?, last_sent_at_ms = ?, last_for = ?, last_error = ?, test_id = ?
      WHERE report_id = ?`
    connection.run(sql, doneFor, lastSentAtMs, lastFor, lastError, testId, reportId)
    return null
  },
  { audit: null },
)

export const testMailReport = write(
  (connection: Connection, { reportId, testId }: { reportId: string; testId: string }): null => {
    connection.run('UPDATE mail_report SET test_id = ? WHERE report_id = ?', testId, reportId)
    return null
  },
  {
    audit:
      (_, { reportId }) =>
      () => [event('mail_report.tested', reportId, null)],
  },
)

export const deleteMailReport = write(
  (connection: Connection, { reportId }: { reportId: string }): null => {
    connection.run('DELETE FROM mail_report WHERE report_id = ?', reportId)
    return null
  },
  {
    audit: (connection, { reportId }) => {
      const known = find(connection, reportId)
      return () =>
        known === undefined
          ? []
          : [{ action: 'mail_report.deleted', target: reportId, before: entryOf(known), after: null }]
    },
  },
)

function find(connection: Connection, reportId: string): MailReportRow | undefined {
  return listMailReports(connection).find((row) => row.reportId === reportId)
}

function entryOf({ recipient, report, at, language }: MailReportRow): Record<string, unknown> {
  return { to: recipient, report, at, language }
}
