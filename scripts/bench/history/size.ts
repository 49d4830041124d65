import { statSync } from 'node:fs'
import { join } from 'node:path'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { atMost, formatCount, printTable, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import type { SharedHistory } from './shared-history.ts'
import { countUnsealed } from './telemetry-log.ts'

const TARGET_BYTES = 9
const SPACE_LIMIT_MS = 120_000
/** Free pages that the gateway keeps for its next writes. */
const KEPT_PAGES = 1000
/** Records from which a target applies: most of a small database is not records. */
const WORTH_JUDGING = 1_000_000

/** Measures the disk space of a fix: the whole database file, positions only. */
export async function runSize(context: ScenarioContext, history: SharedHistory): Promise<ScenarioReport> {
  const [single, fleet, folder] = [await history.single(), await history.fleet(), await history.folder()]
  const gateway = await history.start()
  await folder.seal(gateway)
  // the pages of the former log return to the file system gradually
  const isGivenBack = () => freePages(folder.path) <= KEPT_PAGES
  await mustReach(isGivenBack, SPACE_LIMIT_MS, 'the gateway does not release free space')
  // writes the content of the write-ahead log into the database file
  await gateway.process.stop()
  const { size: fileBytes } = statSync(join(folder.path, 'cartbarn.db'))
  const { records } = history
  const raw = { fileBytes, records, unsealed: countUnsealed(folder.path), tables: readTables(folder.path) }
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

function freePages(folder: string): number {
  return readDatabase(folder, (db) => Number(db.pragma('freelist_count', { simple: true })))
}

/** Tables and indexes with the most bytes. */
function readTables(folder: string): (readonly [string, number])[] {
  const sql = 'SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC LIMIT 4'
  const rows = readDatabase(folder, (db) => db.prepare<[], { name: string; bytes: number }>(sql).all())
  return rows.map(({ name, bytes }) => [name, bytes] as const)
}
