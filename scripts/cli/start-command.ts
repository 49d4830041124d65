import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isExecutable } from '#shared/program-files.ts'

/** The one entry of all commands. */
export const ENTRY = fileURLToPath(new URL('../commands/cartbarn.ts', import.meta.url))

/** Starts a command of `cartbarn` as a process of its own, which ends when this process ends, however that happens. */
export function startCommand(name: string, argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  // the channel closes with this process: the command notices that
  return spawn(process.execPath, [...(isExecutable ? [] : [ENTRY]), name, ...argv], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env,
  })
}
