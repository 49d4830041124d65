import { CONFIG_EXIT_CODE, ConfigError, describeError } from './errors.ts'
import type { Log } from './log.ts'
import { watchStartup } from './start-watch.ts'

/** A part of a program: constructing it only assigns, `start()` acts, `stop()` undoes it and may be called twice. */
export interface Component {
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts parts in order, each as far as it has something to start; if one fails, stops those that did start, newest
 * first, and throws its error.
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

/** Stops parts, last first, all of them even if one fails; then throws the first error. */
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
 * Runs a program until `stopping` is aborted with the name of a signal. Resolves with the exit code: 0 when it stopped
 * cleanly, also in the middle of its start, 78 when a setting kept it from starting, 1 when it did not start otherwise
 * or did not stop cleanly. A start that hangs ends the process (start-watch.ts).
 */
export function runUntilStopped(program: Component, stopping: AbortSignal, log: Log): Promise<number> {
  return new Promise((resolve) => {
    const endWatch = watchStartup()
    const starting = program.start()
    const stop = async () => {
      log.info({ signal: stopping.reason }, 'stopping')
      try {
        await program.stop()
        // what a start under way has begun meanwhile is undone as well
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
        // a start that was told to end has not failed: how the stop goes is what counts
        if (stopping.aborted) return
        log.error({ reason: describeError(error) }, 'not started')
        resolve(error instanceof ConfigError ? CONFIG_EXIT_CODE : 1)
      })
      .finally(endWatch)
  })
}
