import { cpSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type GatewayProcess, spawnGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import { type Figure, formatCount, noneOf, printProgress, printTable, withoutTarget } from '#scripts/rig/report.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import { type Course, type CourseDevice, connectDevice, makeCourse } from './course.ts'
import { type Comparison, compare } from './judge.ts'
import { type Answers, askEverything } from './questions.ts'
import { chooseStrike, namedPages, type Strike, strike, strikePage } from './strike.ts'

const CASES = 1000
const SHORT_CASES = 4
const SHORT_PAGES = 4
const PROGRESS_EVERY = 50
const AT_ONCE = 2
/** Time within which a gateway must detect a wrong response itself. */
const NOTICE_LIMIT_MS = 15_000
const ACKNOWLEDGEMENT_LIMIT_MS = 10_000

interface Outcome {
  what: string
  strike: Strike
  /** Null if the gateway did not start. */
  comparison: Comparison | null
  /** `/health`, or the output of a gateway that ended. */
  report: string
  isReported: boolean
  /** Devices that are still known but whose messages were not acknowledged. */
  unacknowledged: string[]
}

/** Damages a stopped gateway's files as flash does: every response must be right, or the damage reported. */
export const damage: TortureScenario = {
  name: 'damage',
  summary: 'flipped bits, zeros and noise in the files of a stopped gateway; every wrong response must be reported',
  run: async (context) => {
    const torture = new DamageTorture(context)
    const { random, pages } = await torture.run()
    print(random, pages)
    return { figures: createFigures(random, pages), raw: { random, pages } }
  },
}

class DamageTorture {
  readonly #context: TortureContext
  readonly #seed: number

  constructor(context: TortureContext) {
    this.#context = context
    this.#seed = context.seed ?? Math.floor(Math.random() * 1e6)
  }

  async run(): Promise<{ random: Outcome[]; pages: Outcome[] }> {
    const { bench, entry, isShort, cycles } = this.#context
    printProgress(`  seed ${this.#seed}`)
    const course = await makeCourse(bench, entry)
    const twins = {
      stopped: await this.#answersOf(course, course.folders.stopped),
      killed: await this.#answersOf(course, course.folders.killed),
    }
    const again = compare(twins.stopped, await this.#answersOf(course, course.folders.stopped))
    if (again.differing.length > 0)
      throw new Error(`responses differ without any damage: ${JSON.stringify(again.differing.slice(0, 3))}`)
    const named = namedPages(course.folders.stopped, this.#seed)
    const chosen = isShort ? named.filter((_, n) => n % Math.ceil(named.length / SHORT_PAGES) === 0) : named
    const pages = await this.#all(chosen, (page) =>
      this.#suffer(course, twins.stopped, 'stopped', page.name, strikePage(page, this.#seed)),
    )
    const numbers = Array.from({ length: cycles ?? (isShort ? SHORT_CASES : CASES) }, (_, n) => n)
    const random = await this.#all(numbers, (n) => {
      // half of them hit the log, which holds the newest records
      const [folder, file] =
        n % 2 === 0 ? (['stopped', 'cartbarn.db'] as const) : (['killed', 'cartbarn.db-wal'] as const)
      const chosen = chooseStrike(course.folders[folder], file, this.#seed + n)
      return this.#suffer(course, twins[folder], folder, `case ${n}`, chosen)
    })
    return { random, pages }
  }

  async #all<Item>(items: readonly Item[], suffer: (item: Item) => Promise<Outcome>): Promise<Outcome[]> {
    let done = 0
    return inParallel(items, AT_ONCE, async (item) => {
      const outcome = await suffer(item)
      if (isBad(outcome)) printProgress(describe(outcome))
      if (++done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${items.length}`)
      return outcome
    })
  }

  async #answersOf(course: Course, folder: string): Promise<Answers> {
    const dataDir = this.#copy(folder)
    const gateway = await untilListening(this.#spawn(dataDir))
    const answers = await askEverything(gateway, course)
    await gateway.process.stop('SIGKILL')
    rmSync(dataDir, { recursive: true })
    for (const [question, { status, text }] of answers)
      if (status !== 200) throw new Error(`${question}: ${status} ${text.slice(0, 200)} without any damage`)
    return answers
  }

  async #suffer(
    course: Course,
    undamaged: Answers,
    folder: 'stopped' | 'killed',
    what: string,
    chosen: Strike,
  ): Promise<Outcome> {
    const dataDir = this.#copy(course.folders[folder])
    strike(dataDir, chosen)
    const started = this.#spawn(dataDir)
    let lastLine = ''
    started.watchLines((line) => {
      lastLine = line
    })
    const outcome: Outcome = {
      what: `${what} (${folder})`,
      strike: chosen,
      comparison: null,
      report: '',
      isReported: false,
      unacknowledged: [],
    }
    try {
      const gateway = await untilListening(started).catch(() => null)
      if (gateway === null) {
        outcome.report = `${lastLine} ${started.errorTail}`
        outcome.isReported = /repair/.test(outcome.report)
        return outcome
      }
      const answers = await askEverything(gateway, course)
      outcome.comparison = compare(undamaged, answers)
      outcome.report = await this.#reportOf(gateway, outcome.comparison.differing.length > 0)
      outcome.isReported = /"damage(d_telemetry)?":/.test(outcome.report)
      outcome.unacknowledged = await unacknowledged(gateway, course.devices)
      return outcome
    } finally {
      await started.stop('SIGKILL')
      rmSync(dataDir, { recursive: true })
    }
  }

  /** Reads the reported damage; waits for it if a response is wrong. */
  async #reportOf(gateway: GatewayProcess, isAwaited: boolean): Promise<string> {
    const untilMs = performance.now() + (isAwaited ? NOTICE_LIMIT_MS : 0)
    for (;;) {
      const health = await gateway.api.health().catch((error: unknown) => String(error))
      if (/"damage(d_telemetry)?":/.test(health) || performance.now() >= untilMs) return health
      await sleep(500)
    }
  }

  #spawn(dataDir: string) {
    const { bench, entry } = this.#context
    return spawnGateway(bench, { entry, dataDir })
  }

  #copy(folder: string): string {
    const dataDir = createDataFolder(this.#context.bench, 'damaged')
    // keeps the times: with others it would not be the same file
    cpSync(folder, dataDir, { recursive: true, preserveTimestamps: true })
    passForOriginal(dataDir)
    return dataDir
  }
}

/** Devices that the gateway still knows, and whose telemetry and lock event it does not acknowledge. */
async function unacknowledged(gateway: GatewayProcess, devices: readonly CourseDevice[]): Promise<string[]> {
  const known = new Set(await gateway.api.hardwareIds().catch(() => []))
  const waiting = devices.filter(({ hardwareId }) => known.has(hardwareId))
  const acknowledged = await Promise.all(waiting.map((device) => isAcknowledged(gateway, device)))
  return waiting.filter((_, n) => !acknowledged[n]).map(({ hardwareId }) => hardwareId)
}

async function isAcknowledged(gateway: GatewayProcess, device: CourseDevice): Promise<boolean> {
  const limit = sleep(ACKNOWLEDGEMENT_LIMIT_MS, false, { ref: false })
  const send = async (): Promise<boolean> => {
    const client = await connectDevice(gateway, device)
    try {
      const sample = { ts: Date.now(), lat: 36.5, long: -121.9 }
      await client.publishAsync(`dev/${device.hardwareId}/tlm`, JSON.stringify(sample), { qos: 1 })
      const event = { eid: `after-${Date.now()}`, event: 'lock', source: 'key', ts: Date.now() }
      await client.publishAsync(`dev/${device.hardwareId}/evt`, JSON.stringify(event), { qos: 1 })
      return true
    } finally {
      client.end(true)
    }
  }
  return Promise.race([send().catch(() => false), limit])
}

/** True for an unreported wrong response, a failed start without a way out, or a cart that is never acknowledged. */
function isBad(outcome: Outcome): boolean {
  return isSilentlyWrong(outcome) || isStuck(outcome) || outcome.unacknowledged.length > 0
}

function isSilentlyWrong({ comparison, isReported }: Outcome): boolean {
  if (comparison === null || isReported) return false
  return comparison.verdicts.less > 0 || comparison.verdicts.other > 0
}

function isStuck({ comparison, isReported }: Outcome): boolean {
  return comparison === null && !isReported
}

function describe({ what, strike: { file, kind, offset }, comparison, report, unacknowledged: waiting }: Outcome) {
  const differing = comparison?.differing.slice(0, 3).map(({ question, verdict }) => `${question}: ${verdict}`)
  const details = [differing?.join('; ') ?? 'not started', report.slice(0, 300), waiting.join(' ')]
  return `  ${what}: ${kind} at ${offset} of ${file}: ${details.filter((text) => text !== '').join(' | ')}`
}

function count(outcomes: readonly Outcome[], holds: (outcome: Outcome) => boolean): number {
  return outcomes.filter(holds).length
}

function print(random: readonly Outcome[], pages: readonly Outcome[]): void {
  const rows = [
    { name: 'at random', outcomes: random },
    { name: 'a page of each table and index', outcomes: pages },
  ].map(({ name, outcomes }) => [
    name,
    ...[
      outcomes.length,
      count(outcomes, ({ comparison }) => comparison?.differing.length === 0),
      count(outcomes, ({ comparison, isReported }) => isReported && (comparison?.differing.length ?? 0) > 0),
      count(outcomes, isSilentlyWrong),
      count(outcomes, ({ comparison }) => (comparison?.verdicts.other ?? 0) > 0),
      count(outcomes, ({ comparison }) => comparison === null),
    ].map(formatCount),
  ])
  printTable(
    'Damage',
    ['where', 'cases', 'all right', 'differs, reported', 'differs, silent', 'with other values', 'not started'],
    rows,
  )
}

function createFigures(random: readonly Outcome[], pages: readonly Outcome[]): Figure[] {
  const all = [...random, ...pages]
  return [
    noneOf(`damage: cases with an unreported wrong response, of ${all.length}`, count(all, isSilentlyWrong)),
    noneOf('damage: starts that fail without naming the way out', count(all, isStuck)),
    noneOf(
      'damage: cases in which a known cart is not acknowledged',
      count(all, (one) => one.unacknowledged.length > 0),
    ),
    noneOf(
      'damage: a page of a table or an index, and the gateway does not start',
      count(pages, ({ comparison }) => comparison === null),
    ),
    withoutTarget(
      'damage: responses with values that the undamaged gateway does not have, all reported',
      formatCount(count(all, ({ comparison }) => (comparison?.verdicts.other ?? 0) > 0)),
    ),
  ]
}
