import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isExecutable } from '#shared/program-files.ts'

/** Entry point of all commands. */
export const ENTRY = fileURLToPath(new URL('../commands/cartbarn.ts', import.meta.url))

/** Starts a command of `cartbarn` as a separate process, which ends when this process ends, however that happens. */
export function startCommand(name: string, argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  // the channel closes with this process, which the command notices
  return spawn(process.execPath, [...(isExecutable ? [] : [ENTRY]), name, ...argv], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env,
  })
}
