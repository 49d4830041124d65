import { CONFIG_EXIT_CODE, ConfigError, describeError } from './errors.ts'
import type { Log } from './log.ts'
import { watchStartup } from './start-watch.ts'

/** Program component: its constructor only assigns, `start()` acts, `stop()` reverts it and may be called twice. */
export interface Component {
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts components in order; `start` is optional. If one fails, stops the started ones, newest first, and rethrows.
 */
export async function startAll(parts: readonly Partial<Component>[]): Promise<void> {
  const started: Partial<Component>[] = []
  for (const part of parts) {
    try {
      started.push(part)
      await part.start?.()
    } catch (error) {
      await stopAll(started)
      throw error
    }
  }
}

/** Stops components, last first, all of them even if one fails; then throws the first error. */
export async function stopAll(parts: readonly Partial<Component>[]): Promise<void> {
  const errors: unknown[] = []
  for (const part of parts.toReversed()) {
    try {
      await part.stop?.()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

/**
 * Runs a program until `stopping` is aborted with the name of a signal. Resolves with the exit code: 0 after a clean
 * stop, also during the start; 78 if a setting prevented the start; 1 if the start failed otherwise or the stop was not
 * clean. A start that hangs ends the process (start-watch.ts).
 */
export function runUntilStopped(program: Component, stopping: AbortSignal, log: Log): Promise<number> {
  return new Promise((resolve) => {
    const endWatch = watchStartup()
    const starting = program.start()
    const stop = async () => {
      log.info({ signal: stopping.reason }, 'stopping')
      try {
        await program.stop()
        // reverts whatever the active start has begun meanwhile
        await starting.catch(() => undefined)
        await program.stop()
        log.info({}, 'stopped')
        resolve(0)
      } catch (error) {
        log.error({ reason: describeError(error) }, 'not stopped cleanly')
        resolve(1)
      } finally {
        await endWatch()
      }
    }
    stopping.addEventListener('abort', () => void stop())
    starting
      .catch((error: unknown) => {
        // an aborted start has not failed: the result of the stop counts
        if (stopping.aborted) return
        log.error({ reason: describeError(error) }, 'not started')
        resolve(error instanceof ConfigError ? CONFIG_EXIT_CODE : 1)
      })
      .finally(endWatch)
  })
}
