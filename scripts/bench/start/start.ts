import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Figure, none } from '#scripts/rig/figures.ts'
import { countLost } from '#scripts/rig/load/beside.ts'
import { besideDownloads, downloadOf } from '#scripts/rig/load/downloads.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { peakDuring } from '#scripts/rig/quiet-memory.ts'
import { formatMs, printProgress } from '#scripts/rig/report.ts'
import { alternate, byFigure } from '#scripts/rig/rounds.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { DAY_MS } from '#shared/time.ts'
import { databasePath } from '#store/db/files.ts'
import type { FilledFolder } from '../history/fill.ts'
import { tripsOfAll } from '../history/shared-history.ts'
import { makeYear } from './year.ts'

/** Rate of a cart in the barn: a report a minute. */
const RESTING_PER_S = 1 / 60
/** Time in which V8 compiles the used code, and collects the garbage of the start, some 100 s after it. */
const SETTLE_S = 120
const SHORT_SETTLE_S = 0.5
const TRIPS_CARTS = 50
const TRIPS_DAYS = 31
const RELEASE = fileURLToPath(new URL('../../../dist/release', import.meta.url))

const lost: Figure = none('messages of the carts lost')

/** Starts with a year on the disk, in turn with another gateway on a copy, if one is named. */
export const listening = measurement({
  name: 'listening',
  summary: 'from exec to listening with a year of 200 carts, alternating with a second gateway if one is named',
  rounds: 10,
  figures: {
    warm: { what: 'exec to listening, warm', unit: ' ms', target: ['<=', 1000] },
    cold: { what: 'the same, the data folder out of the file cache', unit: ' ms', target: ['<=', 1500] },
    cpu: { what: 'CPU until it listens, warm', unit: ' ms' },
    secondWarm: { what: 'second gateway: exec to listening, warm', unit: ' ms' },
    secondCpu: { what: 'second gateway: CPU until it listens, warm', unit: ' ms' },
    records: { what: 'fixes on the disk, and as many voltages' },
    file: { what: 'database file', unit: ' MB' },
  },
  async run(context) {
    const { bench, entry, beside, rounds } = context
    const { folder, records } = await bench.shared(makeYear, context)
    const subjects = [{ folder, entry }]
    if (beside !== undefined) subjects.push({ folder: folder.copy(), entry: beside })
    for (const subject of subjects) await subject.folder.startFirst(subject.entry)
    const runs = await alternate(rounds, subjects, async (subject) => {
      const warm = await timeStart(subject)
      subject.folder.leaveFileCache()
      const cold = await timeStart(subject)
      printProgress(`  ${formatMs(warm.tookMs)} ms warm, ${formatMs(cold.tookMs)} ms cold`)
      return { warm: warm.tookMs, cpu: warm.cpuMs, cold: cold.tookMs }
    })
    const [own, second] = runs.map(byFigure)
    return {
      warm: own?.warm ?? null,
      cold: own?.cold ?? null,
      cpu: own?.cpu ?? null,
      secondWarm: second?.warm ?? null,
      secondCpu: second?.cpu ?? null,
      records,
      file: statSync(databasePath(folder.path)).size / 1e6,
    }
  },
})

/** Starts a gateway and kills it as a power cut would, so that the next start has a write-ahead log to read. */
async function timeStart({ folder, entry }: { folder: FilledFolder; entry: string }) {
  const startedAtMs = performance.now()
  const { process } = await folder.start({}, entry)
  const tookMs = performance.now() - startedAtMs
  const cpuMs = readCpuSeconds(process.pid) * 1000
  await process.stop('SIGKILL')
  return { tookMs, cpuMs }
}

export const rest = measurement({
  name: 'rest',
  summary: 'the gateway with a year on the disk and 200 carts at rest',
  durationS: [120, 2],
  figures: {
    dirty: { what: 'private dirty memory', unit: ' MB', target: ['<=', 100] },
    resident: { what: 'resident memory', unit: ' MB', target: ['<=', 150] },
    cpu: { what: 'CPU of a core', unit: ' %', target: ['<', 1], digits: 2 },
    settling: { what: `the same in the ${SETTLE_S} s before`, unit: ' %', digits: 2 },
    lost,
  },
  async run(context) {
    const { bench, isShort, durationS } = context
    const { folder, carts } = await bench.shared(makeYear, context)
    const gateway = await folder.start()
    const { pid } = gateway.process
    const load = startDeviceLoad(bench, gateway, carts, RESTING_PER_S, { warmupS: null, durationS })
    await load.connected()
    const settleS = isShort ? SHORT_SETTLE_S : SETTLE_S
    const startS = readCpuSeconds(pid)
    await sleep(settleS * 1000)
    const settledS = readCpuSeconds(pid)
    load.measure()
    const result = await load.result()
    const endS = readCpuSeconds(pid)
    const values = {
      dirty: readMemoryMb(pid, 'Private_Dirty'),
      resident: readMemoryMb(pid, 'Rss'),
      cpu: (100 * (endS - settledS)) / durationS,
      settling: (100 * (settledS - startS)) / settleS,
      lost: countLost([result]),
    }
    await gateway.process.stop()
    return values
  },
})

export const trips = measurement({
  name: 'trips',
  summary: `the trips of ${TRIPS_CARTS} carts over ${TRIPS_DAYS} days are requested in a loop, 200 carts at rest`,
  durationS: [120, 2],
  figures: {
    resident: { what: 'resident memory, at most', unit: ' MB', target: ['<=', 250] },
    dirty: { what: 'private dirty memory after it', unit: ' MB', digits: 1 },
    answers: { what: 'responses' },
    lost,
  },
  async run(context) {
    const { bench, durationS } = context
    const { folder, carts, toMs, fromMs, records } = await bench.shared(makeYear, context)
    const gateway = await folder.start()
    const { pid } = gateway.process
    const hardwareIds = carts.slice(0, TRIPS_CARTS).map(({ hardwareId }) => hardwareId)
    const month = { hardwareIds, records, fromMs: Math.max(fromMs, toMs - TRIPS_DAYS * DAY_MS), toMs }
    const load = () => startDeviceLoad(bench, gateway, carts, RESTING_PER_S, { durationS }).result()
    const { peakBytes, result } = await peakDuring(pid, () =>
      besideDownloads(bench, [downloadOf(gateway, tripsOfAll(month))], load),
    )
    const dirty = readMemoryMb(pid, 'Private_Dirty')
    await gateway.process.stop()
    return { resident: peakBytes / 1e6, dirty, answers: result.downloads, lost: countLost([result.result]) }
  },
})

export const size = measurement({
  name: 'size',
  summary: 'the packed executables of dist/release, if npm run build:release has made any',
  figures: {
    packed: { what: 'the largest executable', unit: ' MB', target: ['<', 45], inShort: true, digits: 1, by: 'most' },
  },
  async run() {
    const names = existsSync(RELEASE) ? readdirSync(RELEASE).filter((name) => name.endsWith('.tar.xz')) : []
    return { packed: names.map((name) => statSync(join(RELEASE, name)).size / 1e6) }
  },
})

/** Memory of a process in MB: all, or that which it alone uses and cannot read again from a file. Linux only. */
function readMemoryMb(pid: number, name: 'Rss' | 'Private_Dirty'): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
  return (Number(kilobytes ?? Number.NaN) * 1024) / 1e6
}
