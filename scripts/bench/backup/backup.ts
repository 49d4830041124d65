import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { backupPlaceOf } from '#gateway/offline/backup-places.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { compareP99, countLost, type LoadPair } from '#scripts/rig/load/beside.ts'
import type { LoadResult } from '#scripts/rig/load/plan.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import {
  atMost,
  formatCount,
  formatMb,
  formatMs,
  median,
  noneOf,
  printProgress,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { ApiClient } from '#shared/client.ts'
import { systemClock } from '#shared/time.ts'
import { databasePath } from '#store/db/files.ts'
import { makeYear } from '../start/year.ts'
import { compareDatabases } from './compare-databases.ts'

const ROUNDS = 3
const SHORT_ROUNDS = 1
const PER_DEVICE_PER_S = 1
const ALONE_S = 60
const SHORT_ALONE_S = 2
const P99_RATIO = 1.5
const CHECK_MS = 500
const PASSPHRASE = 'the nineteenth hole'

/** Measures a first backup, made as at night while all carts publish: its effect on the carts, and its restore. */
export async function runBackup(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, isShort } = context
  const { folder, carts } = await makeYear(context)
  const target = join(bench.createFolder('backups'), 'sets')
  const gateway = await folder.start({
    CARTBARN_BACKUP_TO: target,
    CARTBARN_BACKUP_PASSPHRASE: PASSPHRASE,
  })
  const client = clientOf(gateway)
  const rounds = context.rounds ?? (isShort ? SHORT_ROUNDS : ROUNDS)
  const aloneS = context.durationS ?? (isShort ? SHORT_ALONE_S : ALONE_S)
  const pairs: LoadPair[] = []
  const tookS: number[] = []
  let storedBefore = 0
  for (let round = 0; round < rounds; round++) {
    // each backup is a first one, of everything
    rmSync(target, { recursive: true, force: true })
    const alone = await loadDuring(context, gateway, carts, () => sleep(aloneS * 1000))
    const beside = await loadDuring(context, gateway, carts, async () => {
      storedBefore = await countFixes(client)
      const beganMs = performance.now()
      await backUp(client)
      tookS.push((performance.now() - beganMs) / 1000)
    })
    pairs.push({ alone, beside })
    printProgress(
      `  backed up in ${tookS.at(-1)?.toFixed(1)} s; ` +
        `PUBACK p99 ${formatMs(alone.measured.sinceWrite.p99Ms)} ms alone, ` +
        `${formatMs(beside.measured.sinceWrite.p99Ms)} ms disturbed`,
    )
  }
  await gateway.process.stop()
  const restored = bench.createFolder('restored')
  const beganMs = performance.now()
  await restoreBackup({
    dataDir: restored,
    from: backupPlaceOf(target, 'read'),
    passphrase: PASSPHRASE,
    atMs: systemClock.nowMs(),
  })
  const restoredS = (performance.now() - beganMs) / 1000
  const again = await startGateway(bench, { entry: context.entry, dataDir: restored })
  const missing = Math.max(0, storedBefore - (await countFixes(clientOf(again))))
  await again.process.stop()
  const { rows, differ, tables } = compareDatabases(databasePath(folder.path), databasePath(restored))
  const { ratio, detail } = compareP99(pairs)
  const databaseBytes = statSync(databasePath(folder.path)).size
  return {
    figures: [
      withoutTarget(
        'backup: of a database of',
        `${formatMb(databaseBytes)} MB, in ${formatMb(bytesIn(target))} MB of parts`,
      ),
      withoutTarget('backup: took, median', `${median(tookS).toFixed(1)} s`),
      atMost('backup: PUBACK p99 during it : without', ratio, P99_RATIO, {
        digits: 2,
        detail,
        isJudged: !isShort,
      }),
      noneOf('backup: not acknowledged', countLost(pairs.flatMap(({ alone, beside }) => [alone, beside]))),
      withoutTarget('backup: restored in', `${restoredS.toFixed(1)} s`),
      noneOf('backup: earlier positions that the restored gateway lacks', missing),
      noneOf(
        `backup: of ${formatCount(rows)} restored rows, those that ` +
          `differ${tables.length === 0 ? '' : ` (${tables.join(', ')})`}`,
        differ,
      ),
    ],
    raw: { databaseBytes, tookS, restoredS, rows, pairs },
  }
}

/** Publishes as all carts for as long as the work takes. */
async function loadDuring(
  { bench }: ScenarioContext,
  gateway: GatewayProcess,
  carts: readonly BenchDevice[],
  work: () => Promise<unknown>,
): Promise<LoadResult> {
  const load = startDeviceLoad(bench, gateway, carts, PER_DEVICE_PER_S, { warmupS: null })
  await load.connected()
  load.measure()
  await load.measuring()
  await work()
  load.stop()
  return load.result()
}

function clientOf({ ports }: GatewayProcess): ApiClient {
  return new ApiClient({ url: `http://127.0.0.1:${ports.http}`, apiKey: ADMIN_KEY })
}

async function countFixes(client: ApiClient): Promise<number> {
  return (await client.call('GET /stats')).telemetry.gps
}

async function backUp(client: ApiClient): Promise<void> {
  await client.call('POST /backups')
  for (;;) {
    const { state, last_error } = await client.call('GET /backups')
    if (last_error !== null) throw new Error(last_error.detail)
    if (state === 'idle') return
    await sleep(CHECK_MS)
  }
}

function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
