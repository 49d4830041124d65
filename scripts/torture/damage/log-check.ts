import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { type Figure, formatCount, noneOf, printProgress, printTable, withoutTarget } from '#scripts/rig/report.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { fleetFigures } from '../fleet-figures.ts'
import { type FleetCheck, FleetLoad, type FleetSize } from '../fleet-load.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import type { TortureContext, TortureScenario } from '../scenario.ts'
import {
  checkedTransactionsIn,
  damaged,
  findingOf,
  isCopied,
  isTorn,
  type KilledFiles,
  readKilled,
  torn,
  transactionsIn,
} from './killed-log.ts'

const KILLS = 500
const SHORT_KILLS = 6
/** Damaged copies of each kill. */
const DAMAGES = 2
const TORN_TAILS = 2
const GATEWAY_KILLS = 40
const SHORT_GATEWAY_KILLS = 2
const FLEET: FleetSize = { devices: 60, perDevicePerS: 10, lockDevices: 10 }
/** Lives after which a new database begins, because reading a larger one takes too long. */
const LIVES_OF_DATABASE = 10
const LIFE_MS = 250
const STARTED_LIMIT_MS = 20_000
const PROGRESS_EVERY = 25
const WRITER = fileURLToPath(new URL('./log-writer.ts', import.meta.url))

interface Tally {
  seed: number
  kills: number
  transactions: number
  frames: number
  /** Findings in undamaged logs. */
  falseAlarms: string[]
  torn: number
  tornAlarms: string[]
  damaged: number
  /** Damage by which SQLite on its own loses acknowledged transactions; the fields below count the findings for it. */
  losing: number
  repaired: number
  lost: number
  /** Losing damage in logs without an index that looks like a torn last transaction. */
  unreported: number
  silent: string[]
}

/** Checks that the log check at a start detects every loss, and nothing else. */
export const log: TortureScenario = {
  name: 'log',
  summary: 'logs of killed writers and gateways, whole, torn and damaged: no false alarm, no silent loss',
  run: async (context) => {
    const { bench, isShort, cycles } = context
    const seed = context.seed ?? Math.floor(Math.random() * 2 ** 31)
    const tally = await killWriters(bench, cycles ?? (isShort ? SHORT_KILLS : KILLS), seed)
    const gateways = await killGateways(context, isShort ? SHORT_GATEWAY_KILLS : GATEWAY_KILLS)
    print(tally)
    return { figures: createFigures(tally, gateways), raw: { tally, gateways } }
  },
}

async function killWriters(bench: Workbench, kills: number, seed: number): Promise<Tally> {
  const random = createRandom('log', seed)
  const tally: Tally = {
    seed,
    kills: 0,
    transactions: 0,
    frames: 0,
    torn: 0,
    damaged: 0,
    losing: 0,
    repaired: 0,
    lost: 0,
    unreported: 0,
    falseAlarms: [],
    tornAlarms: [],
    silent: [],
  }
  const judge = new Judge(bench.createFolder('log-copy'), random, tally)
  let [path, contentSeed] = ['', 0]
  printProgress(`  seed ${seed}`)
  while (tally.kills < kills) {
    if (tally.kills % LIVES_OF_DATABASE === 0) {
      path = join(bench.createFolder('log'), 'cartbarn.db')
      contentSeed = random.integer(0, 2 ** 31)
    }
    const acknowledged = await killWriter(bench, { path, seed: contentSeed, lifeMs: random.next() * LIFE_MS })
    tally.kills++
    const files = readKilled(path)
    if (files !== null) judge.judge(files, contentSeed, acknowledged)
    if (tally.kills % PROGRESS_EVERY === 0) printProgress(`  ${tally.kills} of ${kills} kills, ${describe(tally)}`)
  }
  return tally
}

interface WriterLife {
  path: string
  seed: number
  lifeMs: number
}

/** Returns the last transaction that the writer reported as committed. */
async function killWriter(bench: Workbench, { path, seed, lifeMs }: WriterLife): Promise<number> {
  const writer = bench.spawn('writer', process.execPath, [WRITER, path, String(seed)])
  let acknowledged = 0
  writer.watchLines((line) => {
    acknowledged = Number(line)
  })
  await writer.take('transaction', STARTED_LIMIT_MS, (line) => (line === '' ? undefined : line))
  await sleep(lifeMs)
  await writer.stop('SIGKILL')
  return acknowledged
}

/** Evaluates copies of the files that a killed writer left. */
class Judge {
  readonly #folder: string
  readonly #random: Random
  readonly #tally: Tally
  #before: Buffer = Buffer.alloc(0)

  constructor(folder: string, random: Random, tally: Tally) {
    this.#folder = folder
    this.#random = random
    this.#tally = tally
  }

  judge(files: KilledFiles, seed: number, acknowledged: number): void {
    const whole = this.#judgeWhole(files, seed, acknowledged)
    if (typeof whole === 'number') {
      for (let i = 0; i < TORN_TAILS; i++) this.#judgeTorn(files, seed, whole)
      for (let i = 0; i < DAMAGES; i++) this.#judgeDamaged(files, seed, { acknowledged, whole })
    }
    this.#before = files.log
  }

  #judgeWhole(files: KilledFiles, seed: number, acknowledged: number): number | string {
    const tally = this.#tally
    const withIndex = checkedTransactionsIn(this.#folder, files, seed)
    const without = checkedTransactionsIn(this.#folder, { ...files, index: null }, seed)
    for (const { finding, transactions } of [withIndex, without]) {
      if (finding !== null) tally.falseAlarms.push(finding.detail)
      const isAll = typeof transactions === 'number' && transactions >= acknowledged
      if (!isAll) tally.silent.push(`whole log: ${transactions} of ${acknowledged}`)
    }
    tally.transactions += acknowledged
    tally.frames += Math.floor(files.log.length / 4120)
    return withIndex.transactions
  }

  #judgeTorn(files: KilledFiles, seed: number, whole: number): void {
    // pages copied into the database were on the disk before
    if (isCopied(files)) return
    const log = torn(files.log, this.#before, this.#random)
    if (log === null) return
    this.#tally.torn++
    const { finding, transactions } = checkedTransactionsIn(this.#folder, { ...files, log, index: null }, seed)
    if (finding !== null) this.#tally.tornAlarms.push(finding.detail)
    const isAll = typeof transactions === 'number' && transactions >= whole - 1
    if (!isAll) this.#tally.silent.push(`torn log: ${transactions} of ${whole}`)
  }

  #judgeDamaged(files: KilledFiles, seed: number, known: { acknowledged: number; whole: number }): void {
    const tally = this.#tally
    const damage = damaged(files.log, this.#random)
    const index = this.#random.chance(0.5) ? files.index : null
    const bad = { ...files, log: damage.log, index }
    tally.damaged++
    const alone = transactionsIn(this.#folder, bad, seed)
    const { finding, transactions } = checkedTransactionsIn(this.#folder, bad, seed)
    const loses = (count: number | string) => typeof count === 'string' || count < known.acknowledged
    if (loses(alone)) tally.losing++
    if (finding?.outcome === 'mended') tally.repaired++
    if (finding?.outcome === 'lost') tally.lost++
    if (finding?.outcome === 'lost' || !loses(transactions)) return
    if (finding === null && index === null && isTorn(files.log, damage)) tally.unreported++
    else
      tally.silent.push(
        `${damage.from} to ${damage.to}, ${finding?.outcome ?? 'nothing'} reported: ${transactions} of ${known.whole}`,
      )
  }
}

interface Gateways {
  kills: number
  falseAlarms: string[]
  check: FleetCheck
}

/** Checks the logs of real gateways killed under load. */
async function killGateways(context: TortureContext, kills: number): Promise<Gateways> {
  const { bench, entry } = context
  const dataDir = createDataFolder(bench, 'log')
  const copy = bench.createFolder('log-copy')
  const first = await startGateway(bench, { entry, dataDir })
  const fleet = await FleetLoad.start(bench, first, FLEET)
  const gateway = new MortalGateway(context, first.ports, () => fleet.connected())
  await first.process.stop('SIGKILL')
  const falseAlarms: string[] = []
  for (let done = 1; done <= kills; done++) {
    await gateway.kill(dataDir)
    const files = readKilled(join(dataDir, 'cartbarn.db'))
    if (files === null) continue
    for (const index of [files.index, null]) {
      const finding = findingOf(copy, { ...files, index })
      if (finding !== null) falseAlarms.push(finding.detail)
    }
    if (done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${kills} gateways killed`)
  }
  const last = await untilListening(gateway.spawn({ dataDir }))
  await fleet.connected()
  const { check } = await fleet.finish(last)
  await last.process.stop()
  return { kills, falseAlarms, check }
}

function describe({ transactions, losing, silent, falseAlarms, tornAlarms }: Tally): string {
  return (
    `${formatCount(transactions)} transactions, ${losing} losing damages, ${silent.length} silent, ` +
    `${falseAlarms.length + tornAlarms.length} false alarms`
  )
}

function print(tally: Tally): void {
  printTable(
    `Log: ${tally.kills} writers killed, seed ${tally.seed}`,
    ['frames', 'torn tails', 'damaged', 'losing by SQLite alone', 'repaired', 'reported lost', 'as if torn'],
    [
      [tally.frames, tally.torn, tally.damaged, tally.losing, tally.repaired, tally.lost, tally.unreported].map(
        formatCount,
      ),
    ],
  )
  for (const example of [...tally.silent, ...tally.falseAlarms, ...tally.tornAlarms].slice(0, 10))
    printProgress(`  ${example}`)
}

function createFigures(tally: Tally, { kills, falseAlarms, check }: Gateways): Figure[] {
  return [
    noneOf(`log: false alarms of ${tally.kills} kills, with and without -shm`, tally.falseAlarms.length),
    noneOf(`log: false alarms of ${tally.torn} torn tails`, tally.tornAlarms.length),
    noneOf(`log: silent losses of ${tally.losing} losing damages`, tally.silent.length),
    withoutTarget('log: last transactions that looked torn, without -shm', formatCount(tally.unreported)),
    noneOf(`log: false alarms of ${kills} killed gateways`, falseAlarms.length),
    ...fleetFigures('log', check),
  ]
}
