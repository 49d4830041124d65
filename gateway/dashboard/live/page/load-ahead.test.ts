import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { loadAhead } from './load-ahead.ts'

/** Creates timers that the test fires. */
function createTimers() {
  const waiting: (() => void)[] = []
  return {
    setTimer: (action: () => void) => void waiting.push(action),
    pass: async () => {
      waiting.shift()?.()
      await setImmediate()
    },
  }
}

test('screens come one after the other, also after one that does not come', async () => {
  const loaded: string[] = []
  const load = (name: string) => async () => void loaded.push(name)
  const timers = createTimers()
  const broken = () => Promise.reject(new Error('gone'))
  loadAhead([load('fleet'), broken, load('more')], async () => [load('site')], timers.setTimer)
  assert.deepEqual(loaded, [], 'nothing comes at once')
  await timers.pass()
  assert.deepEqual(loaded, ['fleet'])
  for (let i = 0; i < 6; i++) await timers.pass()
  assert.deepEqual(loaded, ['fleet', 'more', 'site'])
})

test('it ends when it is ended', async () => {
  const loaded: string[] = []
  const timers = createTimers()
  const end = loadAhead([async () => void loaded.push('fleet')], async () => [], timers.setTimer)
  end()
  await timers.pass()
  assert.deepEqual(loaded, [])
})
