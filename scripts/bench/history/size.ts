import { statSync } from 'node:fs'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { databasePath } from '#store/db/files.ts'
import { makeHistory } from './shared-history.ts'

const SPACE_LIMIT_MS = 120_000
/** Free pages that the gateway keeps for its next writes. */
const KEPT_PAGES = 1000

/** Measures the disk space of a fix: the whole database file, positions only. */
export const size = measurement({
  name: 'size',
  summary: 'bytes of a fix on the disk: 31 days of a device at one a second, and of 50 at one in 5 s',
  figures: {
    file: { what: 'bytes of a fix, the whole file', target: ['<=', 9], digits: 2 },
    blocks: { what: 'of these in the table of blocks', digits: 2 },
    records: { what: 'fixes' },
  },
  async run(context) {
    const { folder } = await context.bench.shared(makeHistory, context)
    const gateway = await folder.start()
    await folder.seal(gateway)
    // the pages of the former log return to the file system gradually
    const pragma = 'freelist_count'
    const isGivenBack = () =>
      readDatabase(folder.path, (db) => Number(db.pragma(pragma, { simple: true }))) <= KEPT_PAGES
    await mustReach(isGivenBack, SPACE_LIMIT_MS, 'the gateway does not release free space')
    const records = await gateway.api.gpsCount()
    // writes the content of the write-ahead log into the database file
    await gateway.process.stop()
    const sql = "SELECT sum(pgsize) FROM dbstat WHERE name = 'telemetry_block'"
    const blockBytes = readDatabase(folder.path, (db) => db.prepare<[], number>(sql).pluck().get() ?? 0)
    return { file: statSync(databasePath(folder.path)).size / records, blocks: blockBytes / records, records }
  },
})
