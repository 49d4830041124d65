import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cartJson, openJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { ApiClient } from '#shared/client.ts'
import { orderGiveOut } from './give-out.ts'
import { WeekUsage } from './usage.ts'

const AT = '2026-05-01T12:00:00.000Z'

function charged(percent: number) {
  const battery = { voltage: 50, at: AT, rest_voltage: 50, rest_at: AT, percent, hardware_id: 'd' }
  return { battery }
}

describe('the carts to hand out first', () => {
  test('are in the barn, online, not low, in service and without an alert', () => {
    const service = { since: AT, why: '', reason: null, by: { user_id: 'u', name: 'Jane' } }
    const carts = [
      cartJson('1'),
      parkedJson('2', { is_low: true }),
      parkedJson('3', { state: 'silent' }),
      parkedJson('4', { out_of_service: service }),
      parkedJson('5', { open_alerts: ['a'] }),
      openJson('6'),
      parkedJson('7', { is_asleep: true }),
    ]
    assert.deepEqual(
      orderGiveOut(carts, new Map()).map(({ cart }) => cart),
      ['6', '7'],
    )
  })

  test('are the least used, then the fullest, then those with the smaller number', () => {
    const carts = [
      parkedJson('10', charged(80)),
      parkedJson('2', charged(80)),
      parkedJson('3', charged(95)),
      parkedJson('4', charged(60)),
    ]
    const usage = new Map([...['10', '2', '3'].map((cart) => [cart, 12] as const), ['4', 3.5]])
    assert.deepEqual(
      orderGiveOut(carts, usage).map(({ cart }) => cart),
      ['4', '3', '2', '10'],
    )
  })
})

describe('the use of a week', () => {
  const nowMs = Date.UTC(2026, 4, 8, 7, 12)

  /** Responds with 1,000 m for tb-1, 2,000 m for tb-2 …; fails while `isDown`. */
  function gateway() {
    const asked: string[] = []
    const state = { isDown: false }
    const call = async (name: string, { path, query }: { path: { hardwareId: string }; query: object }) => {
      if (state.isDown) throw new Error('no answer')
      asked.push(`${name} ${path.hardwareId} ${Object.values(query).join(' ')}`)
      return { totalDistance: Number(path.hardwareId.slice(3)) * 1000 }
    }
    // the only method that is called
    return { asked, state, api: { call } as unknown as Pick<ApiClient, 'call'> }
  }

  test('is requested once an hour for each cart, by whole hours', async () => {
    const { asked, api } = gateway()
    const week = new WeekUsage(api)
    const carts = [parkedJson('1'), parkedJson('2')]
    await week.ask(carts, nowMs)
    await week.ask(carts, nowMs + 60_000)
    assert.deepEqual(
      [...week.usage.value],
      [
        ['1', 1],
        ['2', 2],
      ],
    )
    assert.equal(asked.length, 2)
    const span = '2026-05-01T07:00:00.000Z 2026-05-08T07:00:00.000Z'
    assert.equal(asked[0], `GET /trips/{hardwareId}/summary tb-1 ${span}`)
    await week.ask([...carts, parkedJson('3')], nowMs + 120_000)
    assert.equal(asked.length, 3)
    await week.ask(carts, nowMs + 3_600_000)
    assert.equal(asked.length, 5)
  })

  test('is requested again after a gateway that did not respond', async () => {
    const { api, state } = gateway()
    const week = new WeekUsage(api)
    state.isDown = true
    await week.ask([parkedJson('4')], nowMs)
    assert.equal(week.usage.value.size, 0)
    state.isDown = false
    await week.ask([parkedJson('4')], nowMs)
    assert.equal(week.usage.value.get('4'), 4)
  })
})
