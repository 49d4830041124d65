import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { CommanderError } from '@commander-js/extra-typings'
import { CONFIG_EXIT_CODE, ConfigError } from '#shared/errors.ts'
import { journalPrefix } from '#shared/service/journal.ts'

/** Environment of a command, taken from its process. */
export interface CommandIo {
  env: NodeJS.ProcessEnv
  /** Base of relative paths. */
  folder: string
  stdin: Readable
  stdout: Writable & { isTTY?: boolean }
  stderr: Writable & { isTTY?: boolean }
  /** Aborted when the command must end as soon as its state is consistent; the reason names the signal. */
  signal: AbortSignal
}

/** Command of `cartbarn`: resolves with the exit code. */
export type RunCommand = (argv: readonly string[], io: CommandIo) => Promise<number>

export const EXIT = { ok: 0, failed: 1, usage: 2, config: CONFIG_EXIT_CODE, interrupted: 130 } as const

/** Wrong option, with a message of one line for the user. */
export class UsageError extends Error {}

/** Failure that ends a command, with a message for the user. */
export class CommandError extends Error {}

/** Returns the process as seen by a command: Ctrl-C asks it to end, a second Ctrl-C ends it. */
export function processIo(): CommandIo {
  const interruption = new AbortController()
  const interrupt = (name: string) => {
    if (interruption.signal.aborted) process.exit(EXIT.interrupted)
    interruption.abort(name)
  }
  process.on('SIGINT', () => interrupt('SIGINT'))
  // a service manager sends it to every process of the service, and npm forwards it: several count as one
  process.on('SIGTERM', () => interruption.abort('SIGTERM'))
  // a command started by another one ends with it, however that one ends
  if (process.connected) process.on('disconnect', () => interrupt('disconnect'))
  process.channel?.unref()
  const { env } = process
  // npm runs scripts in the folder of the package, whatever the current folder
  const folder = env.npm_lifecycle_event === undefined ? process.cwd() : (env.INIT_CWD ?? process.cwd())
  return {
    env,
    folder,
    signal: interruption.signal,
    // Node makes a pipe non-blocking when it opens its stream: opened only if a command uses it, as the log of a
    // gateway writes to the descriptor itself
    get stdin() {
      return process.stdin
    },
    get stdout() {
      const { stdout } = process
      // the program that read the output has ended
      if (stdout.listenerCount('error') === 0) stdout.on('error', () => process.exit(EXIT.failed))
      return stdout
    },
    get stderr() {
      return process.stderr
    },
  }
}

/** Runs a command and returns its exit code; a failure is printed as one line on stderr, after the command's name. */
export async function runCommand(name: string, io: CommandIo, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    // help was requested, and is written
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    if (io.signal.aborted) return EXIT.interrupted
    if (error instanceof UsageError) {
      io.stderr.write(`${name}: ${error.message} (see --help)\n`)
      return EXIT.usage
    }
    if (error instanceof ConfigError) {
      // may also be read in a log: each line with its priority, and with the command whose help applies
      const priority = journalPrefix(2, io.env.JOURNAL_STREAM)?.('error') ?? ''
      const text = `${name}: ${error.message} (see cartbarn ${name} --help)`
      io.stderr.write(`${text.replaceAll(/^/gm, priority)}\n`)
      return EXIT.config
    }
    if (!(error instanceof CommandError)) throw error
    io.stderr.write(`${name}: ${error.message}\n`)
    return EXIT.failed
  }
}

export function pathFrom({ folder }: Pick<CommandIo, 'folder'>, path: string): string {
  return resolve(folder, path)
}

/** Returns the code of a system error, such as ENOENT; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
