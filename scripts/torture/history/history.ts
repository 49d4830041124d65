import { setTimeout as sleep } from 'node:timers/promises'
import {
  type GatewayOptions,
  type GatewayProcess,
  spawnGateway,
  startGateway,
  untilListening,
} from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
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
import { nextBlockChange } from './block-watch.ts'
import { inspectTelemetry } from './telemetry-files.ts'
import { HistoryTraffic, type TrafficFaults } from './traffic.ts'

const KILLS = 100
const SHORT_KILLS = 2
const CUTS = 20
const SHORT_CUTS = 1
/** Kills or cuts between two looks at the whole history. */
const CHECK_EVERY = 10
const DEVICES = 8
/** With this few in the log it is sealed several times a second. */
const ENV = { CARTBARN_SEAL_SAMPLES: '256' }
/** How many of the lives end over a request, and how many while blocks are being written. */
const OVER_A_REQUEST = 0.3
const WHILE_SEALING = 0.4
/** Of those over a request, how many right after the answer: a deletion that was confirmed must stay done. */
const AFTER_AN_ANSWER = 0.5
/** Longer than the gateway takes to look at its log again. */
const SEALING_LIMIT_MS = 4000
/** From when the first blocks of a pass are written. */
const SEALING_SPREAD_MS = 8
const LIFE_MIN_MS = 200
const LIFE_SPREAD_MS = 800
/** From when a request begins. */
const REQUEST_SPREAD_MS = 25

/** The results of all cycles. */
export interface HistoryOutcome {
  kills: number
  /** null where power cuts cannot be simulated. */
  cuts: number | null
  /** Deaths between writing blocks and shortening the log. */
  whileSealing: number
  checks: TrafficFaults[]
  damage: string[]
  imports: HistoryTraffic['requests']['imports']
  deletions: HistoryTraffic['requests']['deletions']
  incompleteImports: number
}

/** Blocks are written, merged and deleted all the time: none of it may be half done. */
export const history: TortureScenario = {
  name: 'history',
  summary: 'sealing, backlogs, imports, purges and erasing through kills and power cuts',
  run: async (context) => {
    const outcome = await tortureHistory(context)
    print(outcome)
    return { figures: createFigures(outcome, context.isShort), raw: outcome } satisfies ScenarioReport
  },
}

/** Kills a gateway again and again, then cuts its power, and checks the history that is left. */
export async function tortureHistory(context: TortureContext): Promise<HistoryOutcome> {
  const { bench, isShort, cycles } = context
  const kills = cycles ?? (isShort ? SHORT_KILLS : KILLS)
  const dataDir = createDataFolder(bench, 'history')
  const victim = await Victim.start(context, dataDir)
  for (let done = 1; done <= kills; done++) {
    await victim.kill(dataDir)
    if (done % CHECK_EVERY !== 0) continue
    await victim.check(dataDir)
    printProgress(`  ${done} of ${kills} kills: ${victim.describe()}`)
  }
  const recorder = compileDiskRecorder(bench)
  const cuts = 'missing' in recorder ? null : (cycles ?? (isShort ? SHORT_CUTS : CUTS))
  let path = dataDir
  if ('missing' in recorder) {
    printProgress(`  power cuts skipped: ${recorder.missing}`)
  } else {
    const folder = new RecordedFolder(bench, recorder.library, dataDir)
    for (let done = 1; done <= (cuts ?? 0); done++) {
      await victim.cutPower(folder, done)
      if (done % CHECK_EVERY === 0) await victim.check(folder.path)
    }
    path = folder.path
    printProgress(`  ${cuts} power cuts: ${victim.describe()}`)
  }
  await victim.check(path)
  return { kills, cuts, ...victim.finish() }
}

/** A gateway that dies again and again while its history goes on. */
class Victim {
  readonly #context: TortureContext
  readonly #traffic: HistoryTraffic
  readonly #ports: GatewayProcess['ports']
  readonly #lives: Life[] = []
  readonly #checks: TrafficFaults[] = []
  readonly #damage: string[] = []
  #whileSealing = 0
  #wasHalfSealed = false

  private constructor(context: TortureContext, traffic: HistoryTraffic, ports: GatewayProcess['ports']) {
    this.#context = context
    this.#traffic = traffic
    this.#ports = ports
  }

  static async start(context: TortureContext, dataDir: string): Promise<Victim> {
    const { bench, entry } = context
    const first = await startGateway(bench, { entry, dataDir, env: ENV })
    const victim = new Victim(context, await HistoryTraffic.start(first, DEVICES), first.ports)
    await first.process.stop('SIGKILL')
    return victim
  }

  async kill(dataDir: string): Promise<void> {
    const gateway = spawnGateway(this.#context.bench, this.#options({ dataDir }))
    const chance = Math.random()
    if (chance < OVER_A_REQUEST) await this.#killOverRequest(gateway)
    else if (chance < OVER_A_REQUEST + WHILE_SEALING) await this.#killWhileSealing(gateway, dataDir)
    else await this.#live(chooseMoment(), gateway)
    this.#inspect(dataDir)
  }

  async cutPower(folder: RecordedFolder, number: number): Promise<void> {
    const moment = chooseCutMoment()
    const { preload, env } = folder.begin(moment === 'at a change' ? chooseChange() : 0)
    const options = this.#options({ dataDir: folder.path, preload, env })
    await this.#live(moment, spawnGateway(this.#context.bench, options))
    folder.cut(unsyncedOf(number))
    this.#inspect(folder.path)
  }

  /** Lets a gateway answer everything and looks at the whole history; it is killed afterwards. */
  async check(dataDir: string): Promise<void> {
    const gateway = await startGateway(this.#context.bench, this.#options({ dataDir }))
    await this.#traffic.ready()
    await this.#traffic.pause()
    this.#checks.push(await this.#traffic.check())
    await gateway.process.stop('SIGKILL')
    this.#damage.push(...findDamage(this.#context.bench, dataDir))
    this.#damage.push(...inspectTelemetry(this.#context.bench, dataDir).faults)
    this.#traffic.resume()
  }

  describe(): string {
    const { imports, deletions } = this.#traffic.requests
    const expected = formatCount(this.#checks.at(-1)?.expected ?? 0)
    return (
      `${this.#whileSealing} while sealing, ${deletions.brokenOff} while deleting, ` +
      `${imports.brokenOff} while importing; ` +
      `${expected} records`
    )
  }

  finish(): Omit<HistoryOutcome, 'kills' | 'cuts'> {
    const { requests } = this.#traffic
    void requests.pause()
    this.#traffic.close()
    return {
      ...{ whileSealing: this.#whileSealing, checks: this.#checks, damage: this.#damage },
      ...{ imports: requests.imports, deletions: requests.deletions },
      incompleteImports: requests.incomplete,
    }
  }

  async #live(moment: Moment, gateway: BenchProcess): Promise<void> {
    const life = await killAt(moment, gateway, usualStartMs(this.#lives), () => this.#traffic.ready())
    this.#lives.push(life)
  }

  async #killOverRequest(gateway: BenchProcess): Promise<void> {
    const { requests } = this.#traffic
    await untilListening(gateway)
    await this.#traffic.ready()
    await sleep(LIFE_MIN_MS + Math.random() * LIFE_SPREAD_MS)
    if (Math.random() < AFTER_AN_ANSWER) {
      await requests.nextDeletionEnds()
    } else {
      await requests.nextBegins()
      await sleep(Math.random() * REQUEST_SPREAD_MS)
    }
    await gateway.stop('SIGKILL')
  }

  async #killWhileSealing(gateway: BenchProcess, dataDir: string): Promise<void> {
    await untilListening(gateway)
    await this.#traffic.ready()
    await nextBlockChange(dataDir, SEALING_LIMIT_MS)
    await sleep(Math.random() * SEALING_SPREAD_MS)
    await gateway.stop('SIGKILL')
  }

  #inspect(dataDir: string): void {
    const { bench } = this.#context
    const { faults, inBoth } = inspectTelemetry(bench, dataDir)
    // one that the next life did not come to finish counts once
    if (inBoth > 0 && !this.#wasHalfSealed) this.#whileSealing++
    this.#wasHalfSealed = inBoth > 0
    this.#damage.push(...faults)
  }

  #options({ dataDir, preload, env }: Pick<GatewayOptions, 'dataDir' | 'preload' | 'env'>): GatewayOptions {
    const { entry } = this.#context
    return { entry, ports: this.#ports, dataDir, preload, env: { ...ENV, ...env } }
  }
}

function sumOf({ checks }: HistoryOutcome, pick: (faults: TrafficFaults) => number): number {
  return checks.reduce((sum, faults) => sum + pick(faults), 0)
}

function print(outcome: HistoryOutcome): void {
  const { kills, cuts, whileSealing, checks, imports, deletions } = outcome
  printTable(
    `History: ${kills} kills and ${cuts ?? 'no'} power cuts`,
    ['while sealing', 'deleting', 'importing', 'looks', 'deletions', 'imports', 'records'],
    [
      [
        ...[whileSealing, deletions.brokenOff, imports.brokenOff, checks.length],
        ...[deletions.confirmed, imports.confirmed, checks.at(-1)?.listed ?? 0],
      ].map(formatCount),
    ],
  )
  const examples = [...checks.flatMap((check) => check.examples), ...outcome.damage]
  for (const example of examples.slice(0, 10)) printProgress(`  ${example}`)
}

function createFigures(outcome: HistoryOutcome, isShort: boolean): Figure[] {
  const { whileSealing, damage, imports, deletions, incompleteImports } = outcome
  const expected = formatCount(sumOf(outcome, (faults) => faults.expected))
  const some = (name: string, count: number): Figure => ({
    ...{ name, target: '> 0', reached: formatCount(count), passed: isShort ? null : count > 0 },
  })
  return [
    noneOf(
      `history: records acknowledged but missing, of ${expected}`,
      sumOf(outcome, (faults) => faults.missing),
    ),
    noneOf(
      'history: deleted records that came back',
      sumOf(outcome, (faults) => faults.returned),
    ),
    noneOf(
      'history: records there twice',
      sumOf(outcome, (faults) => faults.twice),
    ),
    noneOf(
      'history: records not as sent, or never sent',
      sumOf(outcome, (faults) => faults.wrongValues + faults.unknown),
    ),
    noneOf(
      'history: counts that are not what is listed',
      sumOf(outcome, (faults) => faults.wrongCounts),
    ),
    noneOf('history: damage found in the files', damage.length),
    noneOf('history: imports that were not taken whole', incompleteImports + imports.refused),
    noneOf('history: deletions refused', deletions.refused),
    some('history: deaths while sealing', whileSealing),
    some('history: deaths while deleting', deletions.brokenOff),
    some('history: deaths while importing', imports.brokenOff),
    ...(outcome.cuts === null ? [told('history: power cuts', 'skipped')] : []),
  ]
}
