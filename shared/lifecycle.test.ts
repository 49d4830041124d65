import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Component, runUntilStopped } from './lifecycle.ts'
import { createLog } from './log.ts'

/** Runs a program that is stopped during its start. */
async function stopWhileStarting(program: Component, begun: Promise<void>): Promise<number> {
  const stopping = new AbortController()
  const ended = runUntilStopped(program, stopping.signal, createLog('silent'))
  await begun
  stopping.abort('SIGTERM')
  return ended
}

test('a program stopped in the middle of its start exits with 0 and leaves nothing open', async () => {
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  let isOpen = false
  const program: Component = {
    start: async () => {
      begun.resolve()
      // it notices the stop only once that is done
      await stopped.promise
      isOpen = true
    },
    stop: async () => {
      isOpen = false
      stopped.resolve()
    },
  }
  assert.equal(await stopWhileStarting(program, begun.promise), 0)
  assert.equal(isOpen, false)
})

test('a start that fails because it was stopped is not a failure of the program', async () => {
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const program: Component = {
    start: async () => {
      begun.resolve()
      await stopped.promise
      throw new Error('the upgrade was stopped')
    },
    stop: async () => {
      stopped.resolve()
      // the start has failed before the stop is done
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
  assert.equal(await stopWhileStarting(program, begun.promise), 0)
})
