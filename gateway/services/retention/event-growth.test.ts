import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Events } from '#gateway/events.ts'
import { createLog } from '#shared/log.ts'
import { HOUR_MS } from '#shared/time.ts'
import { EventGrowth } from './event-growth.ts'

async function openGrowth(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const events = new Events(log)
  const growth = new EventGrowth({ events, log })
  await growth.start()
  t.after(() => growth.stop())
  const store = (hardwareId: string, count: number) => {
    const rest = {
      eventId: 'e',
      event: 'lock',
      source: 'keypad',
      code: null,
      commandId: null,
      metadataJson: null,
    } as const
    for (let i = 0; i < count; i++) events.emit('lockChanged', { hardwareId, atMs: i, liveAtMs: i, ...rest })
  }
  const afterAnHour = () => {
    t.mock.timers.tick(HOUR_MS)
    return lines.splice(0).map((line) => {
      const { level, hardwareId, lockEvents, lockEventsOfAll } = JSON.parse(line)
      return { level, hardwareId, lockEvents, lockEventsOfAll }
    })
  }
  return { store, afterAnHour }
}

test('a device that stored most of the lock events of an hour is named once for each such hour', async (t) => {
  const { store, afterAnHour } = await openGrowth(t)
  store('cart-1', 1001)
  store('cart-2', 600)
  store('cart-3', 400)
  const warning = { level: 'warn', hardwareId: 'cart-1', lockEvents: 1001, lockEventsOfAll: 2001 }
  assert.deepEqual(afterAnHour(), [warning])
  assert.deepEqual(afterAnHour(), [])
  store('cart-2', 5000)
  assert.deepEqual(afterAnHour(), [{ level: 'warn', hardwareId: 'cart-2', lockEvents: 5000, lockEventsOfAll: 5000 }])
})

test('a device with half of the events, or with a thousand, is not named', async (t) => {
  const { store, afterAnHour } = await openGrowth(t)
  store('cart-1', 1000)
  assert.deepEqual(afterAnHour(), [])
  store('cart-1', 2000)
  store('cart-2', 2000)
  assert.deepEqual(afterAnHour(), [])
})
