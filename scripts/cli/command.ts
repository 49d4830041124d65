import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { CommanderError } from '@commander-js/extra-typings'
import { CONFIG_EXIT_CODE, ConfigError } from '#shared/errors.ts'
import { journalPrefix } from '#shared/service/journal.ts'

/** What a command is given of the process it runs in. */
export interface CommandIo {
  env: NodeJS.ProcessEnv
  /** What relative paths are relative to. */
  folder: string
  stdin: Readable
  stdout: Writable & { isTTY?: boolean }
  stderr: Writable & { isTTY?: boolean }
  /** Ends the command as soon as what is begun is in order; the reason names the signal. */
  signal: AbortSignal
}

/** A command of `cartbarn`: resolves with the exit code. */
export type RunCommand = (argv: readonly string[], io: CommandIo) => Promise<number>

export const EXIT = { ok: 0, failed: 1, usage: 2, config: CONFIG_EXIT_CODE, interrupted: 130 } as const

/** A wrong option: one line for the person who typed it. */
export class UsageError extends Error {}

/** What ends a command, in words for the person who runs it. */
export class CommandError extends Error {}

/** The process as a command sees it: Ctrl-C asks it to end, a second Ctrl-C ends it. */
export function processIo(): CommandIo {
  const interruption = new AbortController()
  const interrupt = (name: string) => {
    if (interruption.signal.aborted) process.exit(EXIT.interrupted)
    interruption.abort(name)
  }
  process.on('SIGINT', () => interrupt('SIGINT'))
  // a service manager sends it to every process of the service, and npm sends it on: several are one
  process.on('SIGTERM', () => interruption.abort('SIGTERM'))
  // a command that another one started ends with it, however that one ends
  if (process.connected) process.on('disconnect', () => interrupt('disconnect'))
  process.channel?.unref()
  const { env } = process
  // npm runs scripts in the folder of the package, wherever it was called
  const folder = env.npm_lifecycle_event === undefined ? process.cwd() : (env.INIT_CWD ?? process.cwd())
  return {
    env,
    folder,
    signal: interruption.signal,
    // Node makes a pipe non-blocking when it opens its stream: not before a command wants one, as the log of a gateway
    // writes to the descriptor itself
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

/** Runs a command and returns its exit code; what went wrong is one line on stderr, after its name. */
export async function runCommand(name: string, io: CommandIo, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    // its help was asked for, and is written
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    if (io.signal.aborted) return EXIT.interrupted
    if (error instanceof UsageError) {
      io.stderr.write(`${name}: ${error.message} (see --help)\n`)
      return EXIT.usage
    }
    if (error instanceof ConfigError) {
      // read in a log too: each line with its priority, and with the name of whose help is meant
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

/** The code of a system error, such as ENOENT; undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
