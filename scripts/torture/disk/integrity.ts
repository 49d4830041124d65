import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Workbench } from '#scripts/rig/processes.ts'
import { createLog } from '#shared/log.ts'
import { pagesWithWrongBit } from '#store/damage/wrong-bits.ts'
import { Connection } from '#store/db/connection.ts'
import { PageSums } from '#store/pages/page-sums.ts'
import { printFaults } from '../scenario.ts'

const MAX_PROBLEMS = 5

/**
 * Findings of `PRAGMA integrity_check`, and wrong checksums of pages, in the databases of a folder that no process has
 * open. Reads a copy: opening the files would recover them, which is left to the gateway.
 */
export function findDamage(bench: Workbench, folder: string): string[] {
  const copy = bench.createFolder('integrity')
  try {
    cpSync(folder, copy, { recursive: true })
    const databases = readdirSync(copy).filter((name) => name.endsWith('.db'))
    return databases.flatMap((name) => checkDatabase(join(copy, name)).map((problem) => `${name}: ${problem}`))
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Number of those findings, which it prints. */
export function countDamage(bench: Workbench, folder: string): number {
  const found = findDamage(bench, folder)
  printFaults(found)
  return found.length
}

function checkDatabase(path: string): string[] {
  // for a gateway, a checksum that a kill or a power cut left wrong is damage
  new PageSums(path, createLog('silent')).prepare()
  const db = new Database(path)
  try {
    // one column of text a row, only 'ok' without a finding
    const rows = db.pragma('integrity_check') as { integrity_check: string }[]
    const problems = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok')
    // the page was read correctly, but a checksum that a cut left wrong would look like a wrong bit too
    const pages = pagesWithWrongBit(new Connection(db)).map((page) => `page ${page} has a wrong bit`)
    return [...problems, ...pages].slice(0, MAX_PROBLEMS)
  } catch (error) {
    return [String(error)]
  } finally {
    db.close()
  }
}
