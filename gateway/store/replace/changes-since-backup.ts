import type { BackupManifest } from '#shared/wire/backups.ts'
import { countRows, databaseMarks } from '../backups/database-marks.ts'
import type { Connection } from '../db/connection.ts'

/** Tables whose loss staff would notice, with their names in messages. */
const COUNTED: Readonly<Record<string, string>> = {
  lock_event: 'lock events',
  geofence_event: 'zone events',
  command: 'commands',
  audit_entry: 'entries of the audit log',
  alert: 'alerts',
  telemetry_block: 'blocks of telemetry',
}

/** Describes the data that a backup lacks; empty if none. Compares numbers that only grow, as a clock may be wrong. */
export function changesSinceBackup(connection: Connection, manifest: BackupManifest): string[] {
  const { epoch, ends } = databaseMarks(connection)
  if (epoch !== manifest.epoch) return isInUse(connection) ? ['its history differs from that of the backup'] : []
  const lines = Object.entries(COUNTED).flatMap(([name, what]) => {
    const more = (ends[name] ?? 0) - (manifest.ends[name] ?? 0)
    return more > 0 ? [`${more.toLocaleString('en')} ${what}`] : []
  })
  const samples = (ends.telemetry_log ?? 0) - (manifest.ends.telemetry_log ?? 0)
  if (samples > 0) lines.unshift(`${samples.toLocaleString('en')} samples of devices`)
  return lines
}

/** False after a first start, which creates one user and nothing else of value. */
function isInUse(connection: Connection): boolean {
  return ['device', 'telemetry_block', 'telemetry_log', 'lock_event'].some((table) => countRows(connection, table) > 0)
}
