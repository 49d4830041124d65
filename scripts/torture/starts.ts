import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import { listen } from '#scripts/rig/listen.ts'
import type { BenchProcess, Workbench } from '#scripts/rig/processes.ts'
import { median, printProgress } from '#scripts/rig/report.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { ordeal } from './scenario.ts'

const PROGRESS_EVERY = 20
/** Longer than any start takes, and shorter than the programs' own watchdog for a start. */
const LIMIT_MS = 60_000
const FIRST_GUESS_MS = 1_500
const KEY = /\b(?:flt|cbh)_[\w-]{20,}/
const LISTENING = /"msg":"listening"/
const URL_IN_LINE = /"http":"([^"]+)"/

/** Conditions of a start; `after a kill` uses the folder of a start that was killed at some moment. */
const CIRCUMSTANCES = ['empty folder', 'port taken', 'after a kill'] as const
type Circumstance = (typeof CIRCUMSTANCES)[number]

const PROGRAMS = [
  {
    name: 'gateway',
    command: 'run',
    settings: { CARTBARN_HOST: '127.0.0.1', CARTBARN_MQTT_PORT: '0' },
    dataDir: 'CARTBARN_DATA_DIR',
    port: 'CARTBARN_HTTP_PORT',
  },
  {
    name: 'hub',
    command: 'hub',
    settings: { CARTBARN_HUB_HOST: '127.0.0.1' },
    dataDir: 'CARTBARN_HUB_DATA_DIR',
    port: 'CARTBARN_HUB_PORT',
  },
] as const
type Program = (typeof PROGRAMS)[number]

type End = 'listening' | 'ended with a reason' | 'ended silently' | 'hung'

interface Start {
  program: Program['name']
  circumstance: Circumstance
  end: End
  tookMs: number
  /** True if an admin's key was available and opens the API; null if the program does not listen. */
  hasKey: boolean | null
}

/** Checks that a program either listens or reports why not, in any conditions, and that an admin can sign in. */
export const starts = ordeal({
  name: 'starts',
  summary: 'starts of gateway and hub on empty folders, with ports taken and after kills; none may hang',
  cycles: [300, 6],
  figures: {
    starts: { what: 'starts' },
    silent: none('neither listening nor a reason'),
    deaf: none('not listening without an obstacle'),
    keyless: none('listening, and no key available'),
    gateway: { what: 'from the start of a gateway to listening', unit: ' ms' },
    hub: { what: 'from the start of a hub to listening', unit: ' ms' },
  },
  async run({ bench, entry, cycles }) {
    const done: Start[] = []
    for (let n = 0; n < cycles; n++) {
      const program = PROGRAMS[n % PROGRAMS.length] as Program
      const circumstance = CIRCUMSTANCES[Math.floor(n / PROGRAMS.length) % CIRCUMSTANCES.length] as Circumstance
      const usualMs = median(timesOf(done, program.name)) || FIRST_GUESS_MS
      done.push(await startOnce(bench, { entry, program, circumstance, usualMs }))
      if ((n + 1) % PROGRESS_EVERY === 0) printProgress(`  ${n + 1} of ${cycles} starts`)
    }
    const count = (test: (one: Start) => boolean) => done.filter(test).length
    return {
      starts: done.length,
      silent: count(({ end }) => end === 'hung' || end === 'ended silently'),
      deaf: count(({ circumstance, end }) => circumstance !== 'port taken' && end !== 'listening'),
      keyless: count(({ hasKey }) => hasKey === false),
      gateway: timesOf(done, 'gateway'),
      hub: timesOf(done, 'hub'),
    }
  },
})

interface StartOptions {
  entry: string
  program: Program
  circumstance: Circumstance
  usualMs: number
}

async function startOnce(bench: Workbench, options: StartOptions): Promise<Start> {
  const { program, circumstance, usualMs } = options
  const dataDir = bench.createFolder(program.name)
  if (circumstance === 'port taken') {
    const taker = createServer()
    const life = new Life(bench, options, dataDir, await listen(taker))
    const end = await life.end()
    await life.kill()
    taker.close()
    return { program: program.name, circumstance, end, tookMs: life.tookMs, hasKey: null }
  }
  let before = ''
  if (circumstance === 'after a kill') {
    const first = new Life(bench, options, dataDir, 0)
    await Promise.race([first.end(), sleep(Math.random() * usualMs * 1.2, undefined, { ref: false })])
    await first.kill()
    before = first.output
  }
  const life = new Life(bench, options, dataDir, 0)
  const end = await life.end()
  const printed = () => `${before}\n${life.output}`
  const hasKey = end === 'listening' ? await opensWith(life.url, printed, dataDir) : null
  await life.kill()
  return { program: program.name, circumstance, end, tookMs: life.tookMs, hasKey }
}

class Life {
  readonly #process: BenchProcess
  readonly #startedAtMs = performance.now()
  readonly #lines: string[] = []
  readonly #listening = Promise.withResolvers<void>()
  tookMs = 0
  url = ''

  constructor(bench: Workbench, { entry, program }: StartOptions, dataDir: string, port: number) {
    const settings = { ...program.settings, [program.dataDir]: dataDir, [program.port]: String(port) }
    this.#process = bench.spawn(program.name, process.execPath, [entry, program.command], settings)
    this.#process.watchLines((line) => {
      this.#lines.push(line)
      if (!LISTENING.test(line)) return
      this.url = URL_IN_LINE.exec(line)?.[1] ?? ''
      this.#listening.resolve()
    })
  }

  /** Output of the program, on stdout and stderr. */
  get output(): string {
    return `${this.#lines.join('\n')}\n${this.#process.errorTail}`.trim()
  }

  async end(): Promise<End> {
    const limit = sleep(LIMIT_MS, 'hung' as const, { ref: false })
    const end = await Promise.race([
      this.#listening.promise.then(() => 'listening' as const),
      this.#process.exited.then(() => 'ended' as const),
      limit,
    ])
    this.tookMs = performance.now() - this.#startedAtMs
    if (end !== 'ended') return end
    return this.output === '' ? 'ended silently' : 'ended with a reason'
  }

  async kill(): Promise<void> {
    await this.#process.stop('SIGKILL')
  }
}

/** Time limit for a printed key, which follows the line that reports that the program listens. */
const KEY_WAIT_MS = 5_000
const KEY_CHECK_MS = 100

/** True if the key that was printed, or is in the data folder, is an admin's. */
async function opensWith(url: string, printed: () => string, dataDir: string): Promise<boolean> {
  const opens = async () => {
    const key = KEY.exec(printed())?.[0] ?? KEY.exec(keyFile(dataDir))?.[0]
    return key !== undefined && (await fetch(`${url}/users`, { headers: { 'x-api-key': key } })).status === 200
  }
  return waitUntil(opens, KEY_WAIT_MS, KEY_CHECK_MS)
}

function keyFile(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'admin-key.txt'), 'utf8')
  } catch {
    return ''
  }
}

function timesOf(done: readonly Start[], name: Program['name']): number[] {
  return done.filter(({ program, end }) => program === name && end === 'listening').map(({ tookMs }) => tookMs)
}
