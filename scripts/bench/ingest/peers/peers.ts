import { setTimeout as sleep } from 'node:timers/promises'
import type { LatencySummary } from '#scripts/rig/latency.ts'
import { checkHistory, type HistoryCheck } from '#scripts/rig/load/history-check.ts'
import { LoadProcess, startFullSpeed } from '#scripts/rig/load/process.ts'
import { findMosquitto } from '#scripts/rig/mosquitto-process.ts'
import { readTreeUsage } from '#scripts/rig/process-usage.ts'
import {
  type Figure,
  formatCount,
  formatMs,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { WINDOW, warmUp } from '../saturation-run.ts'
import { GatewayPeer } from './gateway-peer.ts'
import { MosquittoPeer, postgresStorage, sqliteStorage } from './mosquitto-peer.ts'
import type { Peer } from './peer.ts'

const PER_DEVICE_PER_S = 1
/** Spread of the lifetimes, so that no two kills hit the same moment of a transaction. */
const LIFE_SPREAD_MS = 500

/** `fullSpeedS` is short for the sake of a broker that has to hold in memory what a subscriber does not take. */
const COURSE = { devices: 200, warmupS: 2, durationS: 30, kills: 5, lifeMs: 2000, fullSpeedS: 5 }
const SHORT_COURSE = { devices: 20, warmupS: 0.2, durationS: 1, kills: 1, lifeMs: 500, fullSpeedS: 0.5 }
type Sizes = typeof COURSE

/** Course with one message a second of each device. */
interface CourseRun {
  cpuUs: number
  writtenBytes: number
  sinceWrite: LatencySummary
  /** Loss over all kills. */
  loss: HistoryCheck
}

/** Load as fast as it is acknowledged. */
interface FullSpeedRun {
  acknowledgedPerS: number
  storedPerS: number
  sinceWrite: LatencySummary
  /** Loss of one kill at full speed. */
  loss: HistoryCheck
}

interface PeerRun {
  name: string
  course: CourseRun
  fullSpeed: FullSpeedRun
}

/** Compares the gateway with what one would build in its place. */
export async function runPeers(context: ScenarioContext): Promise<ScenarioReport> {
  const course = context.isShort ? SHORT_COURSE : COURSE
  const sizes = {
    ...course,
    durationS: context.durationS ?? course.durationS,
    kills: context.rounds ?? course.kills,
  }
  const runs: PeerRun[] = []
  for (const create of creatorsOf(context, sizes)) {
    const peer = await create()
    if (peer === undefined) continue
    printProgress(`  ${peer.name}`)
    const course = await measureCourse(context, peer, sizes)
    const fullSpeed = await measureFullSpeed(context, peer, sizes)
    await peer.stop()
    runs.push({ name: peer.name, course, fullSpeed })
  }
  print(runs, sizes)
  return { figures: createFigures(runs), raw: { ...sizes, runs } }
}

/** Creates the peers in sequence: one that does not run does not disturb the others. */
function creatorsOf(context: ScenarioContext, { devices }: Sizes): (() => Promise<Peer | undefined>)[] {
  const { bench } = context
  const gateway = () => GatewayPeer.create(context, devices)
  const program = findMosquitto()
  if (program === undefined) {
    printProgress('  mosquitto not found: compared with nothing')
    return [gateway]
  }
  return [
    gateway,
    () => MosquittoPeer.create(bench, program, devices),
    () => MosquittoPeer.create(bench, program, devices, sqliteStorage(bench)),
    async () => {
      const storage = await postgresStorage()
      if (storage !== undefined) return MosquittoPeer.create(bench, program, devices, storage)
      printProgress('  PostgreSQL not found: not compared with it')
      return undefined
    },
  ]
}

async function measureCourse(
  { bench }: ScenarioContext,
  peer: Peer,
  { warmupS, durationS, kills, lifeMs }: Sizes,
): Promise<CourseRun> {
  const start = (plan: { warmupS: number; durationS: number | null; keepsJournal: boolean }) =>
    new LoadProcess(bench, {
      port: peer.port,
      clients: peer.devices,
      session: 'bare',
      perClientPerS: PER_DEVICE_PER_S,
      notBeforeMs: 0,
      ...plan,
    })
  const load = start({ warmupS, durationS, keepsJournal: false })
  await load.measuring()
  const before = readTreeUsage(peer.pids)
  await load.measured()
  const after = readTreeUsage(peer.pids)
  const { acknowledged, sinceWrite } = (await load.result()).measured

  const losses: HistoryCheck[] = []
  for (let kill = 0; kill < kills; kill++) {
    const doomed = start({ warmupS: 0, durationS: null, keepsJournal: true })
    await doomed.connected()
    await sleep(lifeMs + Math.random() * LIFE_SPREAD_MS)
    await peer.kill()
    const journal = await doomed.journal()
    doomed.kill()
    await peer.recover()
    losses.push(await checkHistory(peer, journal))
  }
  return {
    cpuUs: ((after.cpuS - before.cpuS) / acknowledged) * 1e6,
    writtenBytes: (after.writtenBytes - before.writtenBytes) / acknowledged,
    sinceWrite,
    loss: sumOf(losses),
  }
}

async function measureFullSpeed({ bench }: ScenarioContext, peer: Peer, { fullSpeedS }: Sizes): Promise<FullSpeedRun> {
  const load = await startFullSpeed(bench, {
    port: peer.port,
    clients: peer.devices,
    window: WINDOW,
    notBeforeMs: Date.now(),
  })
  await warmUp(fullSpeedS)
  const storedBefore = await peer.stored()
  const measured = await load.call('measure', fullSpeedS)
  const stored = (await peer.stored()) - storedBefore
  await peer.kill()
  await load.call('finish')
  const journal = await load.call('journal')
  await load.stop()
  await peer.recover()
  return {
    acknowledgedPerS: measured.acknowledged / measured.durationS,
    storedPerS: stored / measured.durationS,
    sinceWrite: measured.sinceWrite,
    loss: await checkHistory(peer, journal),
  }
}

function sumOf(checks: readonly HistoryCheck[]): HistoryCheck {
  const sum = (pick: (check: HistoryCheck) => number) => checks.reduce((total, check) => total + pick(check), 0)
  return {
    acknowledged: sum((check) => check.acknowledged),
    stored: sum((check) => check.stored),
    missing: sum((check) => check.missing),
    duplicates: sum((check) => check.duplicates),
    examples: checks.flatMap(({ examples }) => examples),
  }
}

function print(runs: readonly PeerRun[], { devices, durationS, kills }: Sizes): void {
  const lost = ({ missing, acknowledged }: HistoryCheck) => `${formatCount(missing)} of ${formatCount(acknowledged)}`
  printTable(
    `Peers: ${devices} devices x ${PER_DEVICE_PER_S}/s, ${durationS} s, then ${kills} times kill -9`,
    ['', 'CPU us/message', 'written bytes/message', 'ack p50 ms', 'ack p99 ms', 'lost of acknowledged'],
    runs.map(({ name, course }) => [
      name,
      formatCount(course.cpuUs),
      formatCount(course.writtenBytes),
      formatMs(course.sinceWrite.p50Ms),
      formatMs(course.sinceWrite.p99Ms),
      lost(course.loss),
    ]),
  )
  printTable(
    `Peers: ${devices} devices at full speed, then kill -9`,
    ['', 'acked/s', 'stored/s', 'ack p50 ms', 'ack p99 ms', 'lost of acknowledged'],
    runs.map(({ name, fullSpeed }) => [
      name,
      formatCount(fullSpeed.acknowledgedPerS),
      formatCount(fullSpeed.storedPerS),
      formatMs(fullSpeed.sinceWrite.p50Ms),
      formatMs(fullSpeed.sinceWrite.p99Ms),
      lost(fullSpeed.loss),
    ]),
  )
}

function createFigures(runs: readonly PeerRun[]): Figure[] {
  return runs.flatMap(({ name, course, fullSpeed }, i) => {
    const missing = course.loss.missing + fullSpeed.loss.missing
    // only the gateway has a target
    const lost = i === 0 ? noneOf : (what: string, count: number) => withoutTarget(what, formatCount(count))
    return [
      withoutTarget(`peers: ${name}, stored a second at full speed`, formatCount(fullSpeed.storedPerS)),
      withoutTarget(`peers: ${name}, bytes written a message`, formatCount(course.writtenBytes)),
      lost(`peers: ${name}, lost by kill -9`, missing),
    ]
  })
}
