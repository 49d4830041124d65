import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { backupPlaceOf } from '#gateway/offline/backup-places.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { none } from '#scripts/rig/figures.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { type LoadPair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { systemClock } from '#shared/time.ts'
import { databasePath } from '#store/db/files.ts'
import { makeYear } from '../start/year.ts'
import { compareDatabases } from './compare-databases.ts'

const CHECK_MS = 500
const BACKUP_LIMIT_MS = 3_600_000
const PASSPHRASE = 'the nineteenth hole'

/** Measures a first backup, made as at night while all carts publish: its effect on the carts, and its restore. */
export const first = measurement({
  name: 'first',
  summary: 'a first backup of a year of 200 carts while they publish; restored and compared',
  rounds: 3,
  // of the carts alone; with a backup they publish until its end
  durationS: [60, 2],
  figures: {
    database: { what: 'size of the database', unit: ' MB', digits: 1 },
    parts: { what: 'size of the backup', unit: ' MB', digits: 1 },
    took: { what: 'time of a backup', unit: ' s', digits: 1 },
    ...pairFigures('the carts', 1.5),
    restored: { what: 'time of the restore', unit: ' s', digits: 1 },
    missing: none('earlier positions that the restored gateway lacks'),
    rows: { what: 'restored rows compared' },
    differ: none('restored rows that differ'),
  },
  async run(context) {
    const { bench, entry, rounds, durationS } = context
    const { folder, carts } = await makeYear(context)
    const target = join(bench.createFolder('backups'), 'sets')
    const gateway = await folder.start({
      CARTBARN_BACKUP_TO: target,
      CARTBARN_BACKUP_PASSPHRASE: PASSPHRASE,
    })
    const pairs: LoadPair[] = []
    const took: number[] = []
    let storedBefore = 0
    for (let round = 0; round < rounds; round++) {
      // each backup is a first one, of everything
      rmSync(target, { recursive: true, force: true })
      const alone = await startDeviceLoad(bench, gateway, carts, 1, { durationS }).result()
      const load = startDeviceLoad(bench, gateway, carts, 1)
      await load.measuring()
      storedBefore = await gateway.api.gpsCount()
      const beganMs = performance.now()
      await backUp(gateway)
      took.push(secondsSince(beganMs))
      load.stop()
      pairs.push({ alone, beside: await load.result() })
      printProgress(`  backed up in ${took.at(-1)?.toFixed(1)} s`)
    }
    await gateway.process.stop()

    const dataDir = bench.createFolder('restored')
    const beganMs = performance.now()
    const from = backupPlaceOf(target, 'read')
    await restoreBackup({ dataDir, from, passphrase: PASSPHRASE, atMs: systemClock.nowMs() })
    const restored = secondsSince(beganMs)
    const again = await startGateway(bench, { entry, dataDir })
    const missing = Math.max(0, storedBefore - (await again.api.gpsCount()))
    await again.process.stop()
    const original = databasePath(folder.path)
    const { rows, differ } = compareDatabases(original, dataDir)
    return {
      database: statSync(original).size / 1e6,
      parts: bytesIn(target) / 1e6,
      took,
      ...pairValues(pairs),
      restored,
      missing,
      rows,
      differ,
    }
  },
})

async function backUp({ api }: GatewayProcess): Promise<void> {
  await api.call('POST /backups')
  const isDone = async () => {
    const { state, last_error } = await api.call('GET /backups')
    if (last_error !== null) throw new Error(last_error.detail)
    return state === 'idle'
  }
  await mustReach(isDone, BACKUP_LIMIT_MS, 'the backup does not end', CHECK_MS)
}

function secondsSince(startedAtMs: number): number {
  return (performance.now() - startedAtMs) / 1000
}

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
