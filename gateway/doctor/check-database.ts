import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { databasePath } from '#store/db/files.ts'
import { checkDamage, databaseRefusal } from './check-damage.ts'
import { type Finding, failure, ok, shared, warning } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'database'
const HEADER_BYTES = 100
const PAGE = 'see docs/when-something-is-wrong.md, The gateway does not start'

/** Facts about a database without opening it: for a killed gateway that would change what the next start reads. */
interface DatabaseFile {
  bytes: number
  /** Number of migrations applied; for a running gateway possibly that of its previous start. */
  schema: number
}

/** Reads the header of the database. Throws if it is not an SQLite header. */
function readDatabaseFile(dataDir: string): DatabaseFile {
  const path = databasePath(dataDir)
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, HEADER_BYTES, 0)
  } finally {
    closeSync(file)
  }
  // Source: https://sqlite.org/fileformat.html, 1.3: the header string, and the user version at 60
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3') throw new Error(`${path} is not a database`)
  return { bytes: statSync(path).size, schema: header.readUInt32BE(60) }
}

/** Checks that there is a gateway database and reports the health of a running gateway. */
export function checkDatabase(dataDir: string, running: Running | undefined): Finding[] {
  const path = databasePath(dataDir)
  const fault = accessError(path)
  if (fault === 'EACCES') return [warning(ABOUT, `this user may not access ${path}`, 'sudo cartbarn doctor')]
  if (fault !== undefined) return [warning(ABOUT, `not in ${dataDir} yet`, 'start the gateway: it creates one')]
  const file = attempt(() => readDatabaseFile(dataDir))
  if (file === undefined) return [shared('damage_open', { place: path, detail: 'it cannot be read as a database' })]
  const size = `${Math.ceil(file.bytes / 1e6).toLocaleString('en')} MB`
  const refusal = running === undefined ? databaseRefusal(dataDir) : undefined
  if (refusal !== undefined) return [failure(ABOUT, refusal, PAGE)]
  return [
    ok(ABOUT, `schema ${file.schema}, ${size}`),
    ...checkDamage(dataDir, running),
    ...(running === undefined ? [] : judgeHealth(running)),
  ]
}

/** Returns the error code if the file cannot be accessed; undefined if it exists. */
function accessError(path: string): string | undefined {
  try {
    statSync(path)
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  }
}

function judgeHealth({ health }: Running): Finding[] {
  const findings: Finding[] = []
  if (health.status !== 'ok')
    findings.push(shared('store_unusable', { detail: health.detail ?? 'an admin key shows the reason' }))
  if (health.disk !== undefined) {
    const percent = Math.floor((100 * health.disk.used_bytes) / health.disk.budget_bytes)
    findings.push(shared('disk_filling', { percent }))
  }
  if (health.clock !== 'confirmed') findings.push(shared('clock_unconfirmed'))
  return findings
}
