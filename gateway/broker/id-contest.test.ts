import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type IdHolder, takeOver } from './id-contest.ts'

class Id {
  nowMs = 1_000_000
  /** Number of takeovers that were part of a contest. */
  contested = 0
  contests = 0
  #holder: IdHolder

  constructor(address = 'a') {
    this.#holder = this.#connection(address)
  }

  /** Takes the id `afterS` seconds after the last takeover and `silentS` seconds after the last byte of its holder. */
  take(address: string, afterS: number, silentS = 0): this {
    this.nowMs += afterS * 1000
    this.#holder.lastByteAtMs = Math.max(this.#holder.lastByteAtMs, this.nowMs - silentS * 1000)
    const successor = this.#connection(address)
    const contest = takeOver(this.#holder, successor, this.nowMs)
    this.contested += contest?.takeovers ?? 0
    if (contest?.isNew) this.contests++
    this.#holder = successor
    return this
  }

  #connection(address: string): IdHolder {
    return { address, lastByteAtMs: this.nowMs, takeovers: [], contestedAtMs: Number.NEGATIVE_INFINITY }
  }
}

test('three takeovers between two clients in a minute are a contest, even from one address', () => {
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

test('a contest continues with a takeover in each minute, and every takeover is counted', () => {
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

test('takeovers that are further apart are no contest', () => {
  const id = new Id()
  for (let i = 0; i < 20; i++) id.take(i % 2 === 0 ? 'b' : 'a', 31)
  assert.equal(id.contests, 0)
})

test('a device that reconnects on its own causes no contest', () => {
  // its connection is dead: it has sent nothing while the device noticed that, or restarted
  const sameAddress = new Id()
  for (let i = 0; i < 20; i++) sameAddress.take('a', 5, 4)
  assert.equal(sameAddress.contests, 0)
  const twoNetworks = new Id()
  for (let i = 0; i < 20; i++) twoNetworks.take(i % 2 === 0 ? 'b' : 'a', 12, 11)
  assert.equal(twoNetworks.contests, 0)
  // a mobile network that assigns a new address each time
  const moving = new Id()
  for (let i = 0; i < 20; i++) moving.take(`address ${i}`, 5)
  assert.equal(moving.contests, 0)
  // moves to another network and back
  const once = new Id().take('b', 2).take('a', 2)
  assert.equal(once.contests, 0)
})
