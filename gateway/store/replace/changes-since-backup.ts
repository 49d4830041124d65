import type { BackupManifest } from '#shared/wire/backups.ts'
import { countRows, databaseMarks } from '../backups/database-marks.ts'
import type { Connection } from '../db/connection.ts'

/** Rows that people would miss, and what they are called. */
const COUNTED: Readonly<Record<string, string>> = {
  lock_event: 'lock events',
  geofence_event: 'zone events',
  command: 'commands',
  audit_entry: 'entries of the audit log',
  alert: 'alerts',
  telemetry_block: 'blocks of telemetry',
}

/**
 * What a database has that a backup lacks, in words; empty when nothing of it would be lost. By numbers that only grow:
 * a clock may have been wrong.
 */
export function changesSinceBackup(connection: Connection, manifest: BackupManifest): string[] {
  const { epoch, ends } = databaseMarks(connection)
  if (epoch !== manifest.epoch) return isInUse(connection) ? ['it has another history than the backup'] : []
  const lines = Object.entries(COUNTED).flatMap(([name, what]) => {
    const more = (ends[name] ?? 0) - (manifest.ends[name] ?? 0)
    return more > 0 ? [`${more.toLocaleString('en')} ${what}`] : []
  })
  const samples = (ends.telemetry_log ?? 0) - (manifest.ends.telemetry_log ?? 0)
  if (samples > 0) lines.unshift(`${samples.toLocaleString('en')} samples of devices`)
  return lines
}

/** A first start has made one user, and nothing else that anybody would miss. */
function isInUse(connection: Connection): boolean {
  return ['device', 'telemetry_block', 'telemetry_log', 'lock_event'].some((table) => countRows(connection, table) > 0)
}
