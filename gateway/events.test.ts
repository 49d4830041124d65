import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { HOUR_MS } from '#shared/time.ts'
import { Events } from './events.ts'

test('a listener that fails at each tick of an hour is logged once for a reason, and once when it succeeds', () => {
  const lines: { level: string; event: string; reason?: string; failures?: number; msg: string }[] = []
  const events = new Events(createLog('info', { write: (line) => lines.push(JSON.parse(line)) }))
  let reason: string | null = null
  let calls = 0
  events.on('cartsEvaluated', () => {
    if (reason !== null) throw new Error(reason)
  })
  events.on('cartsEvaluated', () => calls++)
  const ticks = HOUR_MS / 1000
  const anHour = (why: string | null) => {
    reason = why
    for (let tick = 0; tick < ticks; tick++) events.emit('cartsEvaluated', { carts: [], nowMs: tick })
  }

  for (const why of [null, 'no disk', 'no room', null, 'no disk']) anHour(why)

  const failed = { event: 'cartsEvaluated', msg: 'an event listener failed' }
  assert.partialDeepStrictEqual(lines, [
    { ...failed, reason: 'no disk' },
    { ...failed, reason: 'no room' },
    { event: 'cartsEvaluated', failures: 2 * ticks, msg: 'an event listener succeeded again' },
    { ...failed, reason: 'no disk' },
  ])
  assert.equal(lines.length, 4)
  assert.equal(calls, 5 * ticks, 'the other listener')
})
