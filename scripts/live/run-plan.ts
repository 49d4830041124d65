import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Wrong } from './bottle.ts'
import type { Entry, Plan } from './plan.ts'
import type { Edit } from './world/threads.ts'

const RUN = fileURLToPath(new URL('one-run.ts', import.meta.url))
/** Real time without progress after which a run counts as one that hangs. */
const HANG_MS = 30_000

/** Plan of which the entries may be drawn yet. */
export type PlanOrSeed = Omit<Plan, 'entries'> & { readonly entries?: readonly Entry[] }

export interface RunOptions {
  readonly plan: PlanOrSeed
  readonly traceFile?: string | undefined
  readonly untilMs?: number | undefined
  readonly edits?: readonly Edit[]
  /** Number of the only check to make. */
  readonly only?: number | undefined
}

/** Result of one run. */
export interface Report {
  readonly startMs: number
  readonly endMs: number
  readonly wrong: readonly Wrong[]
  /** The last entries before the first wrong answer that concern it. */
  readonly deeds: readonly Entry[]
  readonly starts: number
  readonly looks: number
  readonly checks: number
  /** Virtual time divided by real time. */
  readonly times: number
  /** SHA-256 of the trace. */
  readonly trace: string
  readonly memoryMb: number
  /** True if it was interrupted. */
  readonly isPartial: boolean
}

/** The simulation itself failed: nothing is known about the product. */
export class RunError extends Error {}

/**
 * Runs a plan in a process of its own, because a run replaces the clocks of its process. Throws a `RunError` if the
 * run fails or makes no progress for half a minute.
 */
export async function runPlan({ plan, ...options }: RunOptions): Promise<Report> {
  const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const child = spawn(process.execPath, [...process.execArgv, RUN, folder], { stdio: ['pipe', 'pipe', 'pipe'] })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  let progress = virtualTime(0)
  let hasHung = false
  const hang = setTimeout(() => {
    hasHung = true
    end()
  }, HANG_MS)
  child.stdin.end(JSON.stringify({ ...plan, ...options }))
  const errors = text(child.stderr)
  let last = ''
  for await (const line of createInterface(child.stdout)) {
    hang.refresh()
    if (/^\d+$/.test(line)) progress = virtualTime(Number(line))
    else last = line
  }
  clearTimeout(hang)
  process.removeListener('exit', end)
  if (hasHung) throw new RunError(`seed ${plan.seed}: no progress for 30 s after ${progress}`)
  if (last.startsWith('{')) return JSON.parse(last)
  throw new RunError(`seed ${plan.seed}, after ${progress}: ${(await errors).trim() || 'it ended'}`)
}

/** Formats a time since the start of a run, such as 3d04:12:07. */
export function virtualTime(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const time = [(ms / 3_600_000) % 24, (ms / 60_000) % 60, (ms / 1000) % 60].map(two).join(':')
  return `${Math.floor(ms / 86_400_000)}d${time}`
}
