import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { atMost, formatCount, printTable, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { SharedHistory } from './shared-history.ts'
import { countUnsealed } from './telemetry-log.ts'

const TARGET_BYTES = 9
const SPACE_LIMIT_MS = 120_000
const POLL_MS = 250
/** The gateway keeps some free space for its next writes. */
const KEPT_PAGES = 1000
/** Of a database with little in it most is not records. */
const WORTH_JUDGING = 1_000_000

/** What a fix costs on the disk: the whole database file, positions only. */
export async function runSize(context: ScenarioContext, history: SharedHistory): Promise<ScenarioReport> {
  const [single, fleet, folder] = [await history.single(), await history.fleet(), await history.folder()]
  const gateway = await history.start()
  await folder.seal(gateway)
  // the pages of the sealed log go back to the file system bit by bit
  await spaceGivenBack(folder.path)
  // moves the write-ahead log into the database file
  await gateway.process.stop()
  const file = join(folder.path, 'cartbarn.db')
  const { size: fileBytes } = statSync(file)
  const { records } = history
  const raw = { fileBytes, records, unsealed: countUnsealed(folder.path), tables: readTables(file) }
  printTable(
    `Size: ${formatCount(single.records)} fixes at 1 a second and ${formatCount(fleet.records)} at one in 5 s`,
    ['', 'bytes', 'a fix'],
    [['whole file', fileBytes] as const, ...raw.tables].map(([name, bytes]) => [
      name,
      formatCount(bytes),
      (bytes / records).toFixed(2),
    ]),
  )
  const name = `size: bytes a fix, the whole file of ${formatCount(records)}, no battery records`
  const isJudged = !context.isShort && records >= WORTH_JUDGING
  return {
    figures: [atMost(name, fileBytes / records, TARGET_BYTES, { digits: 2, isJudged })],
    raw,
  }
}

async function spaceGivenBack(folder: string): Promise<void> {
  const giveUpAtMs = performance.now() + SPACE_LIMIT_MS
  while (freePages(folder) > KEPT_PAGES) {
    if (performance.now() > giveUpAtMs) throw new Error('the gateway does not give free space back')
    await sleep(POLL_MS)
  }
}

function freePages(folder: string): number {
  const db = new Database(join(folder, 'cartbarn.db'), { readonly: true })
  try {
    return Number(db.pragma('freelist_count', { simple: true }))
  } finally {
    db.close()
  }
}

/** The tables and indexes with the most bytes. */
function readTables(file: string): (readonly [string, number])[] {
  const db = new Database(file, { readonly: true })
  try {
    return db
      .prepare<[], { name: string; bytes: number }>(
        'SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC LIMIT 4',
      )
      .all()
      .map(({ name, bytes }) => [name, bytes] as const)
  } finally {
    db.close()
  }
}
