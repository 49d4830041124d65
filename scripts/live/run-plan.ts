import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Wrong } from './bottle.ts'
import type { Entry, Plan } from './plan.ts'
import type { Edit } from './world/threads.ts'

const RUN = fileURLToPath(new URL('one-run.ts', import.meta.url))

export interface RunOptions {
  /** Without entries they are drawn. */
  readonly plan: Omit<Plan, 'entries'> & { readonly entries?: readonly Entry[] }
  readonly traceFile?: string
  readonly untilMs?: number
  readonly edits?: readonly Edit[]
  /** Number of the only check to make. */
  readonly only?: number
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
}

/** Runs a plan in a process of its own, because a run replaces the clocks of its process. Throws if the run fails. */
export async function runPlan({ plan, ...options }: RunOptions): Promise<Report> {
  const child = spawn(process.execPath, [...process.execArgv, RUN, existsSync('/dev/shm') ? '/dev/shm' : tmpdir()], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.stdin.end(JSON.stringify({ ...plan, ...options }))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  process.removeListener('exit', end)
  const lines = output.trimEnd().split('\n')
  try {
    return JSON.parse(lines.at(-1) ?? '')
  } catch {
    throw new Error(`the run of seed ${plan.seed} failed\n${errors.trim() || output}`)
  }
}
