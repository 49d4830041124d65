import { setTimeout as sleep } from 'node:timers/promises'
import { type Figure, none, type Value } from '#scripts/rig/figures.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import type { LoadPlan } from '#scripts/rig/load/plan.ts'
import { LoadProcess, startFullSpeed } from '#scripts/rig/load/process.ts'
import { PERSISTENCE, sqlitePersistence } from '#scripts/rig/mosquitto-process.ts'
import { readTreeUsage } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { WINDOW, warmUp } from '../saturation-run.ts'
import { postgresStorage, sqliteStorage, startMosquittoPeer } from './mosquitto-peer.ts'
import { type Peer, startGatewayPeer } from './peer.ts'

/** `fullSpeedS` is short for the sake of a broker that has to hold in memory what a subscriber does not take. */
const SIZES = { devices: 200, warmupS: 2, lifeMs: 2000, fullSpeedS: 5 }
const SHORT = { devices: 20, warmupS: 0.2, lifeMs: 500, fullSpeedS: 0.5 }
/** Spread of the lifetimes, so that no two kills hit the same moment of a transaction. */
const LIFE_SPREAD_MS = 500

type StartPeer = (context: RunContext, devices: number) => Promise<Peer | null>

/** Mosquitto keeps messages for a session whose subscriber is away: what it delivers after a kill was on its disk. */
const KEPT = { openStorage: sqliteStorage, isKept: true } as const

const PEERS: Readonly<Record<string, StartPeer>> = {
  cartbarn: startGatewayPeer,
  'cartbarn, everything on': (context, devices) => startGatewayPeer(context, devices, true),
  Mosquitto: ({ bench }, devices) => startMosquittoPeer(bench, devices),
  'Mosquitto, strict persistence': ({ bench }, devices) =>
    startMosquittoPeer(bench, devices, { ...KEPT, persistence: PERSISTENCE.strict }),
  'Mosquitto, SQLite persistence': async ({ bench }, devices) => {
    const persistence = sqlitePersistence()
    return persistence === undefined ? null : startMosquittoPeer(bench, devices, { ...KEPT, persistence })
  },
  'Mosquitto + Node + SQLite': ({ bench }, devices) =>
    startMosquittoPeer(bench, devices, { openStorage: sqliteStorage }),
  'Mosquitto + Node + PostgreSQL': ({ bench }, devices) =>
    startMosquittoPeer(bench, devices, { openStorage: postgresStorage }),
}

const FIGURES = {
  cpu: { what: 'CPU for each message', unit: ' us' },
  written: { what: 'bytes written for each message' },
  p99: { what: 'PUBACK p99', unit: ' ms', digits: 1 },
  acknowledged: { what: 'acknowledged at full speed', unit: '/s' },
  stored: { what: 'stored meanwhile', unit: '/s' },
  lost: { what: 'acknowledged messages lost by kill -9', by: 'sum' },
} satisfies Record<string, Figure>
type Values = Record<keyof typeof FIGURES, Value>
const NOT_MEASURED: Values = { cpu: null, written: null, p99: null, acknowledged: null, stored: null, lost: null }

/** Compares the gateway with what one would build in its place. */
export const peers = measurement<string>({
  name: 'peers',
  summary: `${SIZES.devices} devices x 1/s, and as fast as they are acknowledged; killed with kill -9 meanwhile`,
  // kills at one message a second; there is one more at full speed
  rounds: 5,
  durationS: [30, 1],
  figures: {
    ...Object.fromEntries(Object.keys(PEERS).flatMap(figuresOf)),
    // the others have no target
    'cartbarn lost': none(`cartbarn: ${FIGURES.lost.what}`),
    'cartbarn, everything on lost': none(`cartbarn, everything on: ${FIGURES.lost.what}`),
  },
  async run(context) {
    const values: Record<string, Value> = {}
    // one after the other: a peer that does not run does not disturb the others
    for (const [name, start] of Object.entries(PEERS)) {
      const peer = await start(context, (context.isShort ? SHORT : SIZES).devices)
      printProgress(`  ${name}${peer === null ? ': not on this machine' : ''}`)
      const measured = peer === null ? NOT_MEASURED : await measure(context, peer)
      await peer?.stop()
      for (const [key, value] of Object.entries(measured)) values[`${name} ${key}`] = value
    }
    return values
  },
})

function figuresOf(peer: string): [key: string, Figure][] {
  return Object.entries<Figure>(FIGURES).map(([key, figure]) => {
    return [`${peer} ${key}`, { ...figure, what: `${peer}: ${figure.what}` }]
  })
}

async function measure({ bench, isShort, rounds, durationS }: RunContext, peer: Peer): Promise<Values> {
  const { warmupS, lifeMs, fullSpeedS } = isShort ? SHORT : SIZES
  const load = startLoad(bench, peer, { warmupS, durationS, keepsJournal: false })
  await load.measuring()
  const before = readTreeUsage(peer.pids())
  await load.measured()
  const after = readTreeUsage(peer.pids())
  const { acknowledged, sinceWrite } = (await load.result()).measured

  const lost: number[] = []
  for (let kill = 0; kill < rounds; kill++) {
    const doomed = startLoad(bench, peer, { warmupS: 0, durationS: null, keepsJournal: true })
    await doomed.connected()
    await sleep(lifeMs + Math.random() * LIFE_SPREAD_MS)
    await peer.kill()
    const journal = await doomed.journal()
    doomed.kill()
    await peer.recover()
    lost.push((await checkHistory(peer, journal)).missing)
  }
  const fullSpeed = await measureFullSpeed(bench, peer, fullSpeedS)
  return {
    cpu: ((after.cpuS - before.cpuS) / acknowledged) * 1e6,
    written: (after.writtenBytes - before.writtenBytes) / acknowledged,
    p99: sinceWrite.p99Ms,
    acknowledged: fullSpeed.acknowledgedPerS,
    stored: peer.storesLater ? null : fullSpeed.storedPerS,
    lost: [...lost, fullSpeed.lost],
  }
}

type Plan = Pick<LoadPlan, 'warmupS' | 'durationS' | 'keepsJournal'>

function startLoad(bench: Workbench, peer: Peer, plan: Plan): LoadProcess {
  const fleet = { port: peer.port(), clients: peer.devices, session: 'bare', perClientPerS: 1, notBeforeMs: 0 } as const
  return new LoadProcess(bench, { ...fleet, ...plan })
}

/** Loads it as fast as it acknowledges, and kills it. */
async function measureFullSpeed(bench: Workbench, peer: Peer, durationS: number) {
  const fleet = { port: peer.port(), clients: peer.devices, notBeforeMs: Date.now() }
  const load = await startFullSpeed(bench, { ...fleet, window: WINDOW })
  await warmUp(durationS)
  const storedBefore = await peer.stored()
  const measured = await load.call('measure', durationS)
  const storedPerS = ((await peer.stored()) - storedBefore) / measured.durationS
  await peer.kill()
  await load.call('finish')
  const journal = await load.call('journal')
  await load.stop()
  await peer.recover()
  const acknowledgedPerS = measured.acknowledged / measured.durationS
  return { acknowledgedPerS, storedPerS, lost: (await checkHistory(peer, journal)).missing }
}
