import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { systemClock } from '#shared/time.ts'

/** What doctor asks of the machine; tests have one of their own. */
export interface Machine {
  /** Below it are `/proc`, `/sys` and `/run`. */
  root: string
  nowMs(): number
  /** The user who looks; 0 is root. */
  userId: number
  /** What a program prints; null where it is missing or fails. */
  ask(program: string, argv: readonly string[]): Promise<string | null>
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 16 << 20

/** The machine it runs on. */
export function thisMachine(userId: number): Machine {
  return { root: '/', userId, nowMs: () => systemClock.nowMs(), ask }
}

function ask(program: string, argv: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, argv, { timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES }, (error, output) =>
      resolve(error === null ? output : null),
    )
  })
}

/** A file of the machine. */
export function fileOf({ root }: Machine, path: string): string {
  return join(root, path)
}

/** What can be known, or undefined: other systems have no such files, and some are for root only. */
export function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
