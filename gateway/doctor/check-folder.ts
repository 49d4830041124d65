import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, failure, ok, warning } from './finding.ts'
import { attempt, type Machine } from './machine.ts'

const OTHERS = 0o077
const MAX_FILES = 10_000

/** Checks that the data folder exists, only one user can access it, and all files in it belong to that user. */
export function checkFolder(machine: Machine, dataDir: string): Finding {
  const about = 'data folder'
  const folder = attempt(() => statSync(dataDir))
  if (folder === undefined)
    return warning(
      about,
      `${dataDir} is not there yet, or this user may not see it`,
      'start the gateway, which makes it; else sudo cartbarn doctor, or set CARTBARN_DATA_DIR',
    )
  if (!folder.isDirectory()) return failure(about, `${dataDir} is a file`, 'set CARTBARN_DATA_DIR to a folder')
  if ((folder.mode & OTHERS) !== 0) return failure(about, `others may read ${dataDir}`, `sudo chmod -R go= ${dataDir}`)
  const names = attempt(() => readdirSync(dataDir, { recursive: true, encoding: 'utf8' }))
  if (names === undefined)
    return failure(about, `this user may not read ${dataDir}`, 'sudo cartbarn doctor, or as the user of the service')
  for (const name of names.slice(0, MAX_FILES)) {
    const file = attempt(() => statSync(join(dataDir, name)))
    if (file === undefined) continue
    if (file.uid !== folder.uid)
      return failure(
        about,
        `${name} belongs to another user than ${dataDir}`,
        `sudo chown -R --reference=${dataDir} ${dataDir}`,
      )
    if ((file.mode & OTHERS) !== 0)
      return failure(about, `others may read ${join(dataDir, name)}`, `sudo chmod -R go= ${dataDir}`)
  }
  if (machine.userId !== 0 && machine.userId !== folder.uid)
    return failure(about, `${dataDir} belongs to another user`, 'sudo cartbarn doctor')
  return ok(about, `${dataDir} is for its user only`)
}
