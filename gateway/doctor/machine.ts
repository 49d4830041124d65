import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { systemClock } from '#shared/time.ts'

/** Host functions that doctor uses; tests pass their own. */
export interface Machine {
  /** Folder that contains `/proc`, `/sys` and `/run`. */
  root: string
  nowMs(): number
  /** Id of the user who runs doctor; 0 is root. */
  userId: number
  /** Runs a program and returns its output; null if it is missing or fails. */
  ask(program: string, argv: readonly string[]): Promise<string | null>
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 16 << 20

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

export function fileOf({ root }: Machine, path: string): string {
  return join(root, path)
}

/** Returns undefined if `read` throws: other systems lack some files, and some are readable by root only. */
export function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
