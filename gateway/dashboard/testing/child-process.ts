import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

const TIMEOUT_MS = 10_000

/** Starts a program; if it cannot be started, it counts as ended. */
export function startProgram(path: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(path, args, options)
  child.on('error', () => undefined)
  return child
}

/** Ends a program and waits for its exit; kills it if it does not respond. */
export async function endProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const killer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
  await ended
  clearTimeout(killer)
}
