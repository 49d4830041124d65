import { cpSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, spawnGateway, untilListening } from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'
import { ordeal, type TortureContext } from '../scenario.ts'
import { connectDevice, type FullFolders, makeFolders, publish } from './folders.ts'
import { type Comparison, compare } from './judge.ts'
import { type Answers, askEverything } from './questions.ts'
import { chooseStrike, namedPages, type Strike, strike, strikePage } from './strike.ts'

const SHORT_PAGES = 4
const PROGRESS_EVERY = 50
const AT_ONCE = 2
/** Time within which a gateway must detect a wrong response itself. */
const NOTICE_LIMIT_MS = 15_000
const ACKNOWLEDGEMENT_LIMIT_MS = 10_000
const REPORTED = /"damage(d_telemetry)?":/

/** Folder of a course with its responses, and the damage to a copy. */
interface Case {
  name: string
  folder: string
  undamaged: Answers
  strike: Strike
}

interface Outcome {
  /** Null if the gateway did not start. */
  comparison: Comparison | null
  /** `/health`, or the output of a gateway that ended. */
  report: string
  isReported: boolean
  /** Devices that are still known but whose messages were not acknowledged. */
  unacknowledged: string[]
}

/** Damages a stopped gateway's files as flash does: every response must be right, or the damage reported. */
export const damage = ordeal({
  name: 'damage',
  summary: 'flipped bits, zeros and noise in the files of a stopped gateway; every wrong response must be reported',
  cycles: [1000, 4],
  figures: {
    cases: { what: 'cases, one in each table and index and the others at random' },
    right: { what: 'cases in which all responses are right' },
    reported: { what: 'cases with wrong or refused responses, and a report' },
    silent: none('cases with an unreported wrong response'),
    ended: { what: 'starts that fail' },
    stuck: none('starts that fail without naming the way out'),
    unacknowledged: none('cases in which a known cart is not acknowledged'),
    endedByPage: none('starts that fail because of a page of a table or an index'),
    other: { what: 'cases with values that the undamaged gateway does not have' },
  },
  async run(context) {
    const { bench, entry, isShort, cycles, seed } = context
    printProgress(`  seed ${seed}`)
    const full = await makeFolders(bench, entry)
    const { stopped, killed } = full.folders
    const twins = {
      stopped: await answersOf(context, full, stopped),
      killed: await answersOf(context, full, killed),
    }
    const again = compare(twins.stopped, await answersOf(context, full, stopped))
    if (again.differing.length > 0)
      throw new Error(`responses differ without any damage: ${JSON.stringify(again.differing.slice(0, 3))}`)

    const named = namedPages(stopped, seed)
    const chosen = isShort ? named.filter((_, n) => n % Math.ceil(named.length / SHORT_PAGES) === 0) : named
    const inPages = chosen.map((page): Case => {
      return { name: page.name, folder: stopped, undamaged: twins.stopped, strike: strikePage(page, seed) }
    })
    const atRandom = Array.from({ length: cycles }, (_, n): Case => {
      // half of them hit the log, which holds the newest records
      const [state, file] =
        n % 2 === 0 ? (['stopped', 'cartbarn.db'] as const) : (['killed', 'cartbarn.db-wal'] as const)
      const folder = full.folders[state]
      return { name: `case ${n}`, folder, undamaged: twins[state], strike: chooseStrike(folder, file, seed + n) }
    })
    const pages = await sufferAll(context, full, inPages)
    const all = [...pages, ...(await sufferAll(context, full, atRandom))]
    const count = (holds: (outcome: Outcome) => boolean) => all.filter(holds).length
    const isEnded = ({ comparison }: Outcome) => comparison === null
    return {
      cases: all.length,
      right: count(({ comparison }) => comparison?.differing.length === 0),
      reported: count(({ comparison, isReported }) => isReported && (comparison?.differing.length ?? 0) > 0),
      silent: count(isSilentlyWrong),
      ended: count(isEnded),
      stuck: count(isStuck),
      unacknowledged: count(({ unacknowledged }) => unacknowledged.length > 0),
      endedByPage: pages.filter(isEnded).length,
      other: count(({ comparison }) => (comparison?.verdicts.other ?? 0) > 0),
    }
  },
})

function sufferAll(context: TortureContext, full: FullFolders, cases: readonly Case[]): Promise<Outcome[]> {
  let done = 0
  return inParallel(cases, AT_ONCE, async (one) => {
    const outcome = await suffer(context, full, one)
    const isBad = isSilentlyWrong(outcome) || isStuck(outcome) || outcome.unacknowledged.length > 0
    if (isBad) printProgress(describe(one, outcome))
    if (++done % PROGRESS_EVERY === 0) printProgress(`  ${done} of ${cases.length}`)
    return outcome
  })
}

async function answersOf(context: TortureContext, full: FullFolders, folder: string): Promise<Answers> {
  const { dataDir, started } = startCopy(context, folder)
  const answers = await askEverything(await untilListening(started), full)
  await started.stop('SIGKILL')
  rmSync(dataDir, { recursive: true })
  for (const [question, { status, text }] of answers)
    if (status !== 200) throw new Error(`${question}: ${status} ${text.slice(0, 200)} without any damage`)
  return answers
}

async function suffer(
  context: TortureContext,
  full: FullFolders,
  { folder, undamaged, strike }: Case,
): Promise<Outcome> {
  const { dataDir, started } = startCopy(context, folder, strike)
  let lastLine = ''
  started.watchLines((line) => {
    lastLine = line
  })
  try {
    const gateway = await untilListening(started).catch(() => null)
    if (gateway === null) {
      const report = `${lastLine} ${started.errorTail}`
      return { comparison: null, report, isReported: /repair/.test(report), unacknowledged: [] }
    }
    const comparison = compare(undamaged, await askEverything(gateway, full))
    const report = await reportOf(gateway, comparison.differing.length > 0)
    const unacknowledged = await findUnacknowledged(gateway, full.devices)
    return { comparison, report, isReported: REPORTED.test(report), unacknowledged }
  } finally {
    await started.stop('SIGKILL')
    rmSync(dataDir, { recursive: true })
  }
}

/** Starts a gateway on a copy of a folder, after damage to it. */
function startCopy(
  { bench, entry }: TortureContext,
  folder: string,
  chosen?: Strike,
): { dataDir: string; started: BenchProcess } {
  const dataDir = createDataFolder(bench, 'damaged')
  // keeps the times: with others it would not be the same file
  cpSync(folder, dataDir, { recursive: true, preserveTimestamps: true })
  passForOriginal(dataDir)
  if (chosen !== undefined) strike(dataDir, chosen)
  return { dataDir, started: spawnGateway(bench, { entry, dataDir }) }
}

/** Reads the reported damage; waits for it if a response is wrong. */
async function reportOf({ api }: GatewayProcess, isAwaited: boolean): Promise<string> {
  let health = ''
  const isReported = async () => {
    health = JSON.stringify(await api.call('GET /health').catch(String))
    return REPORTED.test(health)
  }
  await waitUntil(isReported, isAwaited ? NOTICE_LIMIT_MS : 0, 500)
  return health
}

/** Finds devices that the gateway still knows, and whose telemetry and lock event it does not acknowledge. */
async function findUnacknowledged(gateway: GatewayProcess, devices: readonly BenchDevice[]): Promise<string[]> {
  const known = new Set(await gateway.api.hardwareIds().catch(() => []))
  const waiting = devices.filter(({ hardwareId }) => known.has(hardwareId))
  const acknowledged = await Promise.all(waiting.map((device) => isAcknowledged(gateway, device)))
  return waiting.filter((_, n) => !acknowledged[n]).map(({ hardwareId }) => hardwareId)
}

async function isAcknowledged(gateway: GatewayProcess, device: BenchDevice): Promise<boolean> {
  const limit = sleep(ACKNOWLEDGEMENT_LIMIT_MS, false, { ref: false })
  const send = async (): Promise<boolean> => {
    const client = await connectDevice(gateway, device)
    try {
      await publish(client, `dev/${device.hardwareId}/tlm`, { ts: Date.now(), lat: 36.5, long: -121.9 })
      const event = { eid: `after-${Date.now()}`, event: 'lock', source: 'key', ts: Date.now() }
      await publish(client, `dev/${device.hardwareId}/evt`, event)
      return true
    } finally {
      client.end(true)
    }
  }
  return Promise.race([send().catch(() => false), limit])
}

function isSilentlyWrong({ comparison, isReported }: Outcome): boolean {
  if (comparison === null || isReported) return false
  return comparison.verdicts.less > 0 || comparison.verdicts.other > 0
}

function isStuck({ comparison, isReported }: Outcome): boolean {
  return comparison === null && !isReported
}

function describe({ name, strike: { file, kind, offset } }: Case, outcome: Outcome): string {
  const { comparison, report, unacknowledged } = outcome
  const differing = comparison?.differing.slice(0, 3).map(({ question, verdict }) => `${question}: ${verdict}`)
  const details = [differing?.join('; ') ?? 'not started', report.slice(0, 300), unacknowledged.join(' ')]
  return `  ${name}: ${kind} at ${offset} of ${file}: ${details.filter((text) => text !== '').join(' | ')}`
}
