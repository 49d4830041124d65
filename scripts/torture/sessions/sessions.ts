import {
  ADMIN_KEY,
  type GatewayOptions,
  type GatewayProcess,
  spawnGateway,
  startGateway,
} from '#scripts/rig/gateway-process.ts'
import {
  type Figure,
  formatCount,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
  told,
} from '#scripts/rig/report.ts'
import { chooseMoment, killAt, type Life, type Moment, usualStartMs } from '../death.ts'
import { findDamage } from '../disk/integrity.ts'
import { chooseChange, chooseCutMoment, unsyncedOf } from '../disk/power-cuts.ts'
import { createDataFolder, RecordedFolder } from '../disk/recorded-folder.ts'
import { compileDiskRecorder } from '../disk/recorder.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { SessionTraffic, type TrafficCheck } from './traffic.ts'

const KILLS = 40
const SHORT_KILLS = 2
const CUTS = 20
const SHORT_CUTS = 1

interface Outcome {
  kills: number
  /** null where power cuts cannot be simulated. */
  cuts: number | null
  damage: string[]
  check: TrafficCheck
}

/** What the broker keeps for its clients is kept. */
export const sessions: TortureScenario = {
  name: 'sessions',
  summary: 'persistent sessions, QoS 1 and 2, retained messages and wills, through kills and power cuts',
  run: runSessions,
}

async function runSessions(context: TortureContext): Promise<ScenarioReport> {
  const outcome = await torture(context)
  print(outcome)
  return { figures: createFigures(outcome), raw: outcome }
}

async function torture(context: TortureContext): Promise<Outcome> {
  const { bench, entry, isShort, cycles } = context
  const kills = cycles ?? (isShort ? SHORT_KILLS : KILLS)
  const dataDir = createDataFolder(bench, 'sessions')
  const first = await startGateway(bench, { entry, dataDir })
  const username = await first.api.firstUserId()
  const traffic = new SessionTraffic({ port: first.ports.mqtt, username, password: ADMIN_KEY })
  await traffic.start()
  const victim = new Victim(context, traffic, first.ports)
  await first.process.stop('SIGKILL')

  for (let done = 1; done <= kills; done++) await victim.kill(dataDir)
  printProgress(`  killed ${kills} times`)
  const damage = findDamage(bench, dataDir)

  const recorder = compileDiskRecorder(bench)
  const cuts = 'missing' in recorder ? null : (cycles ?? (isShort ? SHORT_CUTS : CUTS))
  let path = dataDir
  if ('missing' in recorder) {
    printProgress(`  power cuts skipped: ${recorder.missing}`)
  } else {
    const folder = new RecordedFolder(bench, recorder.library, dataDir)
    for (let done = 1; done <= (cuts ?? 0); done++) {
      await victim.cutPower(folder, done)
      damage.push(...findDamage(bench, folder.path))
    }
    path = folder.path
    printProgress(`  cut the power ${cuts} times`)
  }

  const last = await startGateway(bench, { entry, dataDir: path, ports: first.ports })
  const check = await traffic.finish()
  await last.process.stop()
  damage.push(...findDamage(bench, path))
  return { kills, cuts, damage, check }
}

/** A gateway that dies again and again while its clients go on. */
class Victim {
  readonly #context: TortureContext
  readonly #traffic: SessionTraffic
  readonly #ports: GatewayProcess['ports']
  readonly #lives: Life[] = []

  constructor(context: TortureContext, traffic: SessionTraffic, ports: GatewayProcess['ports']) {
    this.#context = context
    this.#traffic = traffic
    this.#ports = ports
  }

  kill(dataDir: string): Promise<void> {
    return this.#live(chooseMoment(), { dataDir })
  }

  async cutPower(folder: RecordedFolder, number: number): Promise<void> {
    const moment = chooseCutMoment()
    const recording = folder.begin(moment === 'at a change' ? chooseChange() : 0)
    await this.#live(moment, { dataDir: folder.path, ...recording })
    folder.cut(unsyncedOf(number))
  }

  async #live(moment: Moment, options: Omit<GatewayOptions, 'entry' | 'ports'>): Promise<void> {
    const { bench, entry } = this.#context
    const gateway = spawnGateway(bench, { entry, ports: this.#ports, ...options })
    const usualMs = usualStartMs(this.#lives)
    const life = await killAt(moment, gateway, usualMs, () => this.#traffic.gatewayStarted())
    this.#lives.push(life)
    this.#traffic.gatewayDied()
  }
}

function print({ kills, cuts, check: { deliveries, wills } }: Outcome): void {
  printTable(
    `Sessions: ${kills} kills and ${cuts ?? 'no'} power cuts`,
    ['to be delivered', 'missing', 'twice', 'repeated at QoS 1', 'out of order', 'wills'],
    [
      [
        ...[deliveries.expected, deliveries.missing, deliveries.twice, deliveries.repeated],
        ...[deliveries.outOfOrder, wills.owed],
      ].map(formatCount),
    ],
  )
  for (const example of deliveries.examples) printProgress(`  ${example}`)
}

function createFigures({ cuts, damage, check }: Outcome): Figure[] {
  const { deliveries, wills } = check
  const expected = formatCount(deliveries.expected)
  return [
    noneOf(`sessions: messages acknowledged but missing, of ${expected}`, deliveries.missing),
    noneOf('sessions: delivered twice at QoS 2', deliveries.twice),
    noneOf('sessions: delivered out of order', deliveries.outOfOrder),
    noneOf('sessions: never acknowledged', check.neverAcknowledged),
    noneOf('sessions: sessions lost', check.lostSessions),
    noneOf('sessions: delivered again although acknowledged', check.leftInQueues),
    noneOf(`sessions: retained messages wrong, ${check.retainedChecks} looks`, check.retainedFaults.length),
    noneOf(`sessions: wills missing, of ${wills.owed}`, wills.missing.length),
    noneOf('sessions: damage found by integrity_check', damage.length),
    ...(cuts === null ? [told('sessions: power cuts', 'skipped')] : []),
  ]
}
