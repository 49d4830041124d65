import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type IdHolder, takeOver } from './id-contest.ts'

/** Connections with one id, one after the other. */
class Id {
  nowMs = 1_000_000
  /** Takeovers that were part of a contest. */
  contested = 0
  contests = 0
  #holder: IdHolder

  constructor(address = 'a') {
    this.#holder = this.#connection(address)
  }

  /** So many seconds after the last takeover, and `silentS` after the last byte of the one that has the id. */
  take(address: string, afterS: number, silentS = 0): this {
    this.nowMs += afterS * 1000
    this.#holder.heardAtMs = Math.max(this.#holder.heardAtMs, this.nowMs - silentS * 1000)
    const successor = this.#connection(address)
    const contest = takeOver(this.#holder, successor, this.nowMs)
    this.contested += contest?.takeovers ?? 0
    if (contest?.isNew) this.contests++
    this.#holder = successor
    return this
  }

  #connection(address: string): IdHolder {
    return { address, heardAtMs: this.nowMs, takeovers: [], contestedAtMs: Number.NEGATIVE_INFINITY }
  }
}

test('two clients that take an id from each other three times in a minute are a contest, from one address too', () => {
  for (const addresses of [
    ['a', 'b'],
    ['a', 'a'],
    ['a', 'b', 'c'],
  ]) {
    const id = new Id(addresses[0])
    const at = (i: number) => addresses[i % addresses.length] ?? ''
    for (let i = 1; i <= addresses.length; i++) id.take(at(i), 1)
    assert.equal(id.contests, 0, addresses.join())
    id.take(at(addresses.length + 1), 20)
    if (addresses.length > 2) id.take(at(addresses.length + 2), 1)
    assert.equal(id.contests, 1, addresses.join())
    assert.ok(id.contested >= 3)
  }
})

test('a contest goes on while a minute does not go by without another takeover, and is counted to the last', () => {
  const id = new Id()
  for (let i = 0; i < 100; i++) id.take(i % 2 === 0 ? 'b' : 'a', 0.05)
  assert.deepEqual([id.contests, id.contested], [1, 100])
  for (let i = 0; i < 10; i++) id.take(i % 2 === 0 ? 'b' : 'a', 50)
  assert.deepEqual([id.contests, id.contested], [1, 110])
  id.take('b', 61)
  assert.equal(id.contested, 110)
  id.take('a', 1).take('b', 1).take('a', 1)
  assert.equal(id.contests, 2)
})

test('takeovers that are further apart are none', () => {
  const id = new Id()
  for (let i = 0; i < 20; i++) id.take(i % 2 === 0 ? 'b' : 'a', 31)
  assert.equal(id.contests, 0)
})

test('a device that comes back by itself is no contest', () => {
  // its connection is dead: it has not sent for as long as it took to notice, or to start again
  const sameAddress = new Id()
  for (let i = 0; i < 20; i++) sameAddress.take('a', 5, 4)
  assert.equal(sameAddress.contests, 0)
  const twoNetworks = new Id()
  for (let i = 0; i < 20; i++) twoNetworks.take(i % 2 === 0 ? 'b' : 'a', 12, 11)
  assert.equal(twoNetworks.contests, 0)
  // a mobile network that gives it another address each time
  const moving = new Id()
  for (let i = 0; i < 20; i++) moving.take(`address ${i}`, 5)
  assert.equal(moving.contests, 0)
  // one step to another network and back
  const once = new Id().take('b', 2).take('a', 2)
  assert.equal(once.contests, 0)
})
