import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { type Figure, formatCount, noneOf, printProgress, printTable, withoutTarget } from '#scripts/rig/report.ts'
import type { Unsynced } from '../disk/file.ts'
import { findDamage } from '../disk/integrity.ts'
import { cutAgain } from '../disk/power-cuts.ts'
import { createDataFolder, type RecordedFolder } from '../disk/recorded-folder.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { nextBlockChange } from './block-watch.ts'
import { inspectTelemetry } from './telemetry-files.ts'
import { HistoryTraffic, type TrafficFaults } from './traffic.ts'

const KILLS = 100
const SHORT_KILLS = 2
const CUTS = 20
const SHORT_CUTS = 1
/** Kills or cuts between two checks of the whole history. */
const CHECK_EVERY = 10
const DEVICES = 8
/** With so few samples in the log it is sealed several times a second. */
const ENV = { CARTBARN_SEAL_SAMPLES: '256' }
/** Share of the lives that end during a request; `WHILE_SEALING`: while blocks are being written. */
const OVER_A_REQUEST = 0.3
const WHILE_SEALING = 0.4
/** Share of those during a request that end right after the response: a confirmed deletion must stay done. */
const AFTER_AN_ANSWER = 0.5
/** Longer than the interval between two sealing passes of the gateway. */
const SEALING_LIMIT_MS = 4000
/** Longest time from the first written blocks of a pass to the kill. */
const SEALING_SPREAD_MS = 8
const LIFE_MIN_MS = 200
const LIFE_SPREAD_MS = 800
/** Longest time from the beginning of a request to the kill. */
const REQUEST_SPREAD_MS = 25

export interface HistoryOutcome {
  kills: number
  /** Null if power cuts cannot be simulated. */
  cuts: number | null
  /** Deaths between writing blocks and shortening the log. */
  whileSealing: number
  checks: TrafficFaults[]
  damage: string[]
  imports: HistoryTraffic['requests']['imports']
  deletions: HistoryTraffic['requests']['deletions']
  incompleteImports: number
}

/** Checks that no writing, merging or deleting of blocks is ever half done. */
export const history: TortureScenario = {
  name: 'history',
  summary: 'sealing, backlogs, imports, purges and erasing through kills and power cuts',
  run: async (context) => {
    const outcome = await tortureHistory(context)
    print(outcome)
    return { figures: createFigures(outcome, context.isShort), raw: outcome }
  },
}

/** Kills a gateway repeatedly, then cuts its power, and checks the remaining history. */
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
  const most = cycles ?? (isShort ? SHORT_CUTS : CUTS)
  const { path, cuts } = await cutAgain(bench, dataDir, most, async (folder, unsynced, done) => {
    await victim.cutPower(folder, unsynced)
    if (done % CHECK_EVERY === 0) await victim.check(folder.path)
  })
  if (cuts !== null) printProgress(`  ${cuts} power cuts: ${victim.describe()}`)
  await victim.check(path)
  return { kills, cuts, ...victim.finish() }
}

/** Gateway that dies repeatedly while its history grows. */
class Victim {
  readonly #bench: Workbench
  readonly #traffic: HistoryTraffic
  readonly #gateway: MortalGateway
  readonly #checks: TrafficFaults[] = []
  readonly #damage: string[] = []
  #whileSealing = 0
  #wasHalfSealed = false

  private constructor(bench: Workbench, traffic: HistoryTraffic, gateway: MortalGateway) {
    this.#bench = bench
    this.#traffic = traffic
    this.#gateway = gateway
  }

  static async start(context: TortureContext, dataDir: string): Promise<Victim> {
    const { bench, entry } = context
    const first = await startGateway(bench, { entry, dataDir, env: ENV })
    const traffic = await HistoryTraffic.start(first, DEVICES)
    await first.process.stop('SIGKILL')
    const gateway = new MortalGateway(context, first.ports, () => traffic.ready(), ENV)
    return new Victim(bench, traffic, gateway)
  }

  async kill(dataDir: string): Promise<void> {
    const chance = Math.random()
    if (chance < OVER_A_REQUEST) await this.#killWhen(dataDir, () => this.#requestUnderWay())
    else if (chance < OVER_A_REQUEST + WHILE_SEALING) await this.#killWhen(dataDir, () => sealingUnderWay(dataDir))
    else await this.#gateway.kill(dataDir)
    this.#inspect(dataDir)
  }

  async cutPower(folder: RecordedFolder, unsynced: Unsynced): Promise<void> {
    await this.#gateway.cutPower(folder, unsynced)
    this.#inspect(folder.path)
  }

  /** Lets a gateway answer all requests and checks the whole history; it is killed afterwards. */
  async check(dataDir: string): Promise<void> {
    await this.#killWhen(dataDir, async () => {
      await this.#traffic.pause()
      this.#checks.push(await this.#traffic.check())
    })
    this.#damage.push(...findDamage(this.#bench, dataDir), ...inspectTelemetry(this.#bench, dataDir).faults)
    this.#traffic.resume()
  }

  describe(): string {
    const { imports, deletions } = this.#traffic.requests
    const expected = formatCount(this.#checks.at(-1)?.expected ?? 0)
    return (
      `${this.#whileSealing} while sealing, ${deletions.brokenOff} while deleting, ` +
      `${imports.brokenOff} while importing; ${expected} records`
    )
  }

  finish(): Omit<HistoryOutcome, 'kills' | 'cuts'> {
    const { requests } = this.#traffic
    void requests.pause()
    this.#traffic.close()
    return {
      whileSealing: this.#whileSealing,
      checks: this.#checks,
      damage: this.#damage,
      imports: requests.imports,
      deletions: requests.deletions,
      incompleteImports: requests.incomplete,
    }
  }

  async #killWhen(dataDir: string, isTime: () => Promise<unknown>): Promise<void> {
    const gateway = this.#gateway.spawn({ dataDir })
    await untilListening(gateway)
    await this.#traffic.ready()
    await isTime()
    await gateway.stop('SIGKILL')
  }

  async #requestUnderWay(): Promise<void> {
    const { requests } = this.#traffic
    await sleep(LIFE_MIN_MS + Math.random() * LIFE_SPREAD_MS)
    if (Math.random() < AFTER_AN_ANSWER) return requests.nextDeletionEnds()
    await requests.nextBegins()
    await sleep(Math.random() * REQUEST_SPREAD_MS)
  }

  #inspect(dataDir: string): void {
    const { faults, inBoth } = inspectTelemetry(this.#bench, dataDir)
    // a sealing that the next life did not finish either counts once
    if (inBoth > 0 && !this.#wasHalfSealed) this.#whileSealing++
    this.#wasHalfSealed = inBoth > 0
    this.#damage.push(...faults)
  }
}

async function sealingUnderWay(dataDir: string): Promise<void> {
  await nextBlockChange(dataDir, SEALING_LIMIT_MS)
  await sleep(Math.random() * SEALING_SPREAD_MS)
}

function print(outcome: HistoryOutcome): void {
  const { kills, cuts, whileSealing, checks, imports, deletions } = outcome
  printTable(
    `History: ${kills} kills and ${cuts ?? 'no'} power cuts`,
    ['while sealing', 'deleting', 'importing', 'looks', 'deletions', 'imports', 'records'],
    [
      [
        whileSealing,
        deletions.brokenOff,
        imports.brokenOff,
        checks.length,
        deletions.confirmed,
        imports.confirmed,
        checks.at(-1)?.listed ?? 0,
      ].map(formatCount),
    ],
  )
  const examples = [...checks.flatMap((check) => check.examples), ...outcome.damage]
  for (const example of examples.slice(0, 10)) printProgress(`  ${example}`)
}

function createFigures(outcome: HistoryOutcome, isShort: boolean): Figure[] {
  const { whileSealing, damage, imports, deletions, incompleteImports, checks } = outcome
  const sum = (fault: Exclude<keyof TrafficFaults, 'examples'>) =>
    checks.reduce((total, faults) => total + faults[fault], 0)
  const some = (name: string, count: number): Figure => ({
    name,
    target: '> 0',
    reached: formatCount(count),
    passed: isShort ? null : count > 0,
  })
  return [
    noneOf(`history: records acknowledged but missing, of ${formatCount(sum('expected'))}`, sum('missing')),
    noneOf('history: deleted records that returned', sum('returned')),
    noneOf('history: records stored twice', sum('twice')),
    noneOf('history: records not as sent, or never sent', sum('wrongValues') + sum('unknown')),
    noneOf('history: counts that differ from the list', sum('wrongCounts')),
    noneOf('history: damage found in the files', damage.length),
    noneOf('history: imports that were incomplete', incompleteImports + imports.refused),
    noneOf('history: deletions refused', deletions.refused),
    some('history: deaths while sealing', whileSealing),
    some('history: deaths while deleting', deletions.brokenOff),
    some('history: deaths while importing', imports.brokenOff),
    ...(outcome.cuts === null ? [withoutTarget('history: power cuts', 'skipped')] : []),
  ]
}
