import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimitedError } from '#shared/errors.ts'
import { addressOwner } from './address.ts'
import { Budgets } from './budgets.ts'
import { FairTurns } from './fair-turns.ts'

let nowMs = 0
const budgets = new Budgets(['slots', 'rates', 'turns'], { monotonicMs: () => nowMs })

test('slots are limited per budget key and in total, and the reserve is for privileged callers', () => {
  const slots = budgets.slots('slots', { perOwner: 2, total: 4, reserve: 1 })
  assert.deepEqual([slots.take('a'), slots.take('a'), slots.take('a')], [true, true, false])
  assert.deepEqual([slots.take('b'), slots.take('b')], [true, false])
  assert.deepEqual([slots.take('admin', { mayUseReserve: true }), slots.taken], [true, 4])
  assert.equal(slots.take('admin', { mayUseReserve: true }), false)
  slots.release('a')
  assert.deepEqual([slots.takenBy('a'), slots.take('b')], [1, false])
  slots.release('admin')
  assert.equal(slots.take('b'), true)
  assert.equal(budgets.refused.get('slots'), 4)
  assert.throws(() => slots.release('nobody'), /had not taken/)
})

test('each budget key has its own rate, and may go into debt once with more than a burst', () => {
  const rates = budgets.rates('rates', { perSecond: 10, burst: 20 })
  assert.deepEqual([rates.take('a', 20), rates.take('a'), rates.take('b')], [true, false, true])
  assert.throws(
    () => rates.require('a', 'requests'),
    (error: unknown) => error instanceof RateLimitedError && error.message === 'more than 10 requests a second',
  )
  nowMs += 2_000
  assert.equal(rates.take('a', 30), true)
  assert.equal(rates.waitMs('a'), 1_100)
  assert.equal(budgets.refused.get('rates'), 2)
})

test('budget keys are forgotten when idle for a while, except those in debt', () => {
  const rates = budgets.rates('rates', { perSecond: 1, burst: 1 })
  assert.equal(rates.take('debtor', 1), true)
  for (let i = 0; i < 5_000; i++) rates.take(`owner-${i}`)
  assert.equal(rates.take('debtor'), false)
})

test('rate 0 is unlimited', () => {
  const rates = budgets.rates('rates', { perSecond: 0, burst: 0 })
  for (let i = 0; i < 1_000; i++) assert.equal(rates.take('a'), true)
})

test('budget keys alternate, one task at a time, and a failed task does not stop the others', async () => {
  const turns = new FairTurns()
  const done: string[] = []
  let underWay = 0
  const work = (name: string) => async () => {
    assert.equal(++underWay, 1)
    await new Promise(setImmediate)
    underWay--
    done.push(name)
    if (name === 'a2') throw new Error('broken')
    return name
  }
  const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => turns.take(name.charAt(0), work(name)))
  const results = await Promise.allSettled(all)
  assert.deepEqual(done, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
  await turns.idle()
  assert.equal(await turns.take('a', work('a4')), 'a4')
})

test('a budget key with too much waiting work is rejected, and others are not', async () => {
  const turns = budgets.turns('turns', 2)
  const gate = Promise.withResolvers<void>()
  const held = [turns.take('a', () => gate.promise), turns.take('a', () => gate.promise)]
  await assert.rejects(
    turns.take('a', async () => undefined),
    RateLimitedError,
  )
  const other = turns.take('b', async () => 'done')
  gate.resolve()
  await Promise.all(held)
  assert.equal(await other, 'done')
  assert.equal(await turns.take('a', async () => 'again'), 'again')
  assert.equal(budgets.refused.get('turns'), 1)
})

test('an address stands for a household: IPv4 in full, IPv6 by its first 64 bits', () => {
  assert.equal(addressOwner('192.168.1.20'), '192.168.1.20')
  assert.equal(addressOwner('::ffff:192.168.1.20'), '192.168.1.20')
  assert.equal(addressOwner('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(addressOwner('2001:0db8:0001:0002::9'), '2001:db8:1:2::/64')
  assert.equal(addressOwner('fe80::1%eth0'), 'fe80:0:0:0::/64')
  assert.equal(addressOwner('::1'), '0:0:0:0::/64')
  assert.equal(addressOwner('unknown'), 'unknown')
})
