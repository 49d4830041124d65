import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as loopTurn } from 'node:timers/promises'
import { FairStart } from './fair-start.ts'

test('a few requests start immediately', () => {
  const start = new FairStart()
  const begun: string[] = []
  for (const owner of ['a', 'b', 'c']) start.add(owner, () => begun.push(owner))
  assert.deepEqual(begun, ['a', 'b', 'c'])
})

test('an address with a thousand requests delays another one by at most two ticks', async () => {
  const start = new FairStart()
  let begun = 0
  let atOnce = 0
  for (let i = 0; i < 1000; i++)
    start.add('many', () => {
      begun++
      // each connection sends the next one when this is answered
      if (begun < 3000) start.add('many', () => begun++)
    })
  atOnce = begun
  assert.ok(atOnce < 50, `${atOnce} at once`)
  let turns = 0
  let isBegun = false
  start.add('one', () => {
    isBegun = true
  })
  while (!isBegun) {
    await loopTurn()
    turns++
  }
  assert.ok(turns <= 2, `${turns} turns`)
  while (begun < 1900) await loopTurn()
})
