import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'

/** What a command is given of the process it runs in. */
export interface CommandIo {
  env: NodeJS.ProcessEnv
  /** What relative paths are relative to. */
  folder: string
  stdin: Readable
  stdout: Writable
  stderr: Writable & { isTTY?: boolean }
  /** Ends the command as soon as what is begun is in order. */
  signal: AbortSignal
}

export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** A wrong option: one line for the person who typed it. */
export class UsageError extends Error {}

/** What ends a command, in words for the person who runs it. */
export class CommandError extends Error {}

/** The process as a command sees it: Ctrl-C asks it to end, and a second one does not ask. */
export function processIo(): CommandIo {
  const interruption = new AbortController()
  const interrupt = () => {
    if (interruption.signal.aborted) process.exit(EXIT.interrupted)
    interruption.abort()
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  const { env, stdin, stdout, stderr } = process
  // whoever read it has left: there is nobody to tell
  stdout.on('error', () => process.exit(EXIT.failed))
  // npm runs scripts in the folder of the package, wherever it was called
  const folder = env.npm_lifecycle_event === undefined ? process.cwd() : (env.INIT_CWD ?? process.cwd())
  return { env, folder, stdin, stdout, stderr, signal: interruption.signal }
}

/** Runs a command and returns its exit code; what went wrong is one line on stderr, after its name. */
export async function runCommand(name: string, io: CommandIo, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted
    if (error instanceof UsageError) {
      io.stderr.write(`${name}: ${error.message} (see --help)\n`)
      return EXIT.usage
    }
    if (!(error instanceof CommandError)) throw error
    io.stderr.write(`${name}: ${error.message}\n`)
    return EXIT.failed
  }
}

export function pathFrom({ folder }: CommandIo, path: string): string {
  return resolve(folder, path)
}

/** The code of a system error, such as ENOENT; undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
