import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { databasePath } from '#store/db/files.ts'
import { checkDamage, databaseRefusal, REPAIR } from './check-damage.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'database'
const HEADER_BYTES = 100
const PAGE = 'see docs/when-something-is-wrong.md, The gateway does not start'

/** What can be said of a database without opening it, which would change what a start reads of a killed one. */
interface DatabaseFile {
  bytes: number
  /** How many migrations it has; of a gateway that runs perhaps one start behind. */
  schema: number
}

/** Reads the first bytes of the database. Throws when they are not those of one. */
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
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3') throw new Error(`${path} is no database`)
  return { bytes: statSync(path).size, schema: header.readUInt32BE(60) }
}

/** Whether there is a database of ours, and what the gateway says of its health. */
export function checkDatabase(dataDir: string, running: Running | undefined): Finding[] {
  const path = databasePath(dataDir)
  const fault = faultOfLook(path)
  if (fault === 'EACCES') return [warning(ABOUT, `this user may not look at ${path}`, 'sudo cartbarn doctor')]
  if (fault !== undefined) return [warning(ABOUT, `there is none in ${dataDir} yet`, 'start the gateway: it makes one')]
  const file = attempt(() => readDatabaseFile(dataDir))
  if (file === undefined) return [failure(ABOUT, `${path} cannot be read as a database`, REPAIR)]
  const size = `${Math.ceil(file.bytes / 1e6).toLocaleString('en')} MB`
  const refusal = running === undefined ? databaseRefusal(dataDir) : undefined
  if (refusal !== undefined) return [failure(ABOUT, refusal, PAGE)]
  return [
    ok(ABOUT, `schema ${file.schema}, ${size}`),
    ...checkDamage(dataDir, running),
    ...(running === undefined ? [] : judgeHealth(running)),
  ]
}

/** The code of the error when a file cannot be looked at; undefined when it is there. */
function faultOfLook(path: string): string | undefined {
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
    findings.push(
      failure(
        ABOUT,
        `the gateway can store nothing (${health.detail ?? 'an admin key says why'})`,
        'see docs/when-something-is-wrong.md, The disk is full or gone',
      ),
    )
  if (health.disk !== undefined)
    findings.push(warning('disk', health.disk.detail, 'see docs/operation.md, The data folder'))
  if (health.clock !== 'confirmed')
    findings.push(
      warning(
        'clock',
        `the gateway calls it ${health.clock}, and locks nothing by itself`,
        'confirm it in the app: More',
      ),
    )
  return findings
}
