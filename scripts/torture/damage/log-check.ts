import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { none } from '#scripts/rig/figures.ts'
import { startGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { FLEET_FIGURES, FleetLoad, type FleetSize, type FleetValues } from '../fleet-load.ts'
import { MortalGateway } from '../mortal-gateway.ts'
import { type OrdealContext, ordeal, printFaults } from '../scenario.ts'
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

/** Checks that the log check at a start detects every loss, and nothing else. */
export const log = ordeal({
  name: 'log',
  summary: 'logs of killed writers and gateways, whole, torn and damaged: no false alarm, no silent loss',
  cycles: [500, 6],
  figures: {
    kills: { what: 'killed writers' },
    transactions: { what: 'transactions of these' },
    falseAlarms: none('false alarms, with and without -shm'),
    torn: { what: 'torn tails' },
    tornAlarms: none('false alarms of these'),
    damaged: { what: 'damaged logs' },
    losing: { what: 'damages by which SQLite alone loses acknowledged transactions' },
    repaired: { what: 'repaired ones of these' },
    lost: { what: 'ones reported as lost' },
    unreported: { what: 'ones that look like a torn last transaction, without -shm' },
    silent: none('silent losses'),
    gatewayAlarms: none('false alarms of killed gateways'),
    ...FLEET_FIGURES,
  },
  async run(context) {
    const { cycles, isShort, seed } = context
    printProgress(`  seed ${seed}`)
    const tally = await killWriters(context)
    const gateways = await killGateways(context, isShort ? SHORT_GATEWAY_KILLS : GATEWAY_KILLS)
    return { kills: cycles, ...tally, ...gateways }
  },
})

async function killWriters({ bench, cycles, seed }: OrdealContext): Promise<Tally> {
  const random = createRandom('log', seed)
  const judge = new Judge(bench.createFolder('log-copy'), random)
  let [path, contentSeed] = ['', 0]
  for (let done = 0; done < cycles; done++) {
    if (done % LIVES_OF_DATABASE === 0) {
      path = join(bench.createFolder('log'), 'cartbarn.db')
      contentSeed = random.integer(0, 2 ** 31)
    }
    const acknowledged = await killWriter(bench, { path, seed: contentSeed, lifeMs: random.next() * LIFE_MS })
    const files = readKilled(path)
    if (files !== null) judge.judge(files, contentSeed, acknowledged)
    if ((done + 1) % PROGRESS_EVERY === 0) printProgress(`  ${done + 1} of ${cycles} kills`)
  }
  printFaults(judge.faults)
  return judge.tally
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

const NOTHING_YET = {
  transactions: 0,
  falseAlarms: 0,
  torn: 0,
  tornAlarms: 0,
  damaged: 0,
  losing: 0,
  repaired: 0,
  lost: 0,
  unreported: 0,
  silent: 0,
}
type Tally = typeof NOTHING_YET

/** Evaluates copies of the files that a killed writer left. */
class Judge {
  readonly tally = { ...NOTHING_YET }
  readonly faults: string[] = []
  readonly #folder: string
  readonly #random: Random
  #before: Buffer = Buffer.alloc(0)

  constructor(folder: string, random: Random) {
    this.#folder = folder
    this.#random = random
  }

  judge(files: KilledFiles, seed: number, acknowledged: number): void {
    const whole = this.#judgeWhole(files, seed, acknowledged)
    if (typeof whole === 'number') {
      for (let i = 0; i < TORN_TAILS; i++) this.#judgeTorn(files, seed, whole)
      for (let i = 0; i < DAMAGES; i++) this.#judgeDamaged(files, seed, { acknowledged, whole })
    }
    this.#before = files.log
  }

  #note(fault: 'falseAlarms' | 'tornAlarms' | 'silent', example: string): void {
    this.tally[fault]++
    this.faults.push(`${fault}: ${example}`)
  }

  #judgeWhole(files: KilledFiles, seed: number, acknowledged: number): number | string {
    const withIndex = checkedTransactionsIn(this.#folder, files, seed)
    const without = checkedTransactionsIn(this.#folder, { ...files, index: null }, seed)
    for (const { finding, transactions } of [withIndex, without]) {
      if (finding !== null) this.#note('falseAlarms', finding.detail)
      if (loses(transactions, acknowledged)) this.#note('silent', `whole log: ${transactions} of ${acknowledged}`)
    }
    this.tally.transactions += acknowledged
    return withIndex.transactions
  }

  #judgeTorn(files: KilledFiles, seed: number, whole: number): void {
    // pages copied into the database were on the disk before
    if (isCopied(files)) return
    const log = torn(files.log, this.#before, this.#random)
    if (log === null) return
    this.tally.torn++
    const { finding, transactions } = checkedTransactionsIn(this.#folder, { ...files, log, index: null }, seed)
    if (finding !== null) this.#note('tornAlarms', finding.detail)
    if (loses(transactions, whole - 1)) this.#note('silent', `torn log: ${transactions} of ${whole}`)
  }

  #judgeDamaged(files: KilledFiles, seed: number, known: { acknowledged: number; whole: number }): void {
    const { tally } = this
    const damage = damaged(files.log, this.#random)
    const index = this.#random.chance(0.5) ? files.index : null
    const bad = { ...files, log: damage.log, index }
    tally.damaged++
    const alone = transactionsIn(this.#folder, bad, seed)
    const { finding, transactions } = checkedTransactionsIn(this.#folder, bad, seed)
    if (loses(alone, known.acknowledged)) tally.losing++
    if (finding?.outcome === 'mended') tally.repaired++
    if (finding?.outcome === 'lost') tally.lost++
    if (finding?.outcome === 'lost' || !loses(transactions, known.acknowledged)) return
    if (finding === null && index === null && isTorn(files.log, damage)) tally.unreported++
    else {
      const reported = finding?.outcome ?? 'nothing'
      this.#note('silent', `${damage.from} to ${damage.to}, ${reported} reported: ${transactions} of ${known.whole}`)
    }
  }
}

/** True if a database has fewer transactions than it must have; a text stands for others than the written ones. */
function loses(transactions: number | string, wanted: number): boolean {
  return typeof transactions === 'string' || transactions < wanted
}

/** Checks the logs of real gateways killed under load. */
async function killGateways(context: OrdealContext, kills: number): Promise<FleetValues & { gatewayAlarms: number }> {
  const { bench, entry } = context
  const dataDir = createDataFolder(bench, 'log')
  const copy = bench.createFolder('log-copy')
  const first = await startGateway(bench, { entry, dataDir })
  const load = await FleetLoad.start(bench, first, FLEET)
  const gateway = new MortalGateway(context, first.ports, () => load.connected())
  await first.process.stop('SIGKILL')
  const alarms: string[] = []
  for (let done = 1; done <= kills; done++) {
    await gateway.kill(dataDir)
    const files = readKilled(join(dataDir, 'cartbarn.db'))
    if (files === null) continue
    for (const index of [files.index, null]) {
      const finding = findingOf(copy, { ...files, index })
      if (finding !== null) alarms.push(`false alarm: ${finding.detail}`)
    }
    if (done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${kills} gateways killed`)
  }
  printFaults(alarms)
  const last = await untilListening(gateway.spawn({ dataDir }))
  await load.connected()
  const { fleet } = await load.finish(last)
  await last.process.stop()
  return { gatewayAlarms: alarms.length, ...fleet }
}
