import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inParallel } from './in-parallel.ts'

test('results are in the order of the items, whichever is done first', async () => {
  const results = await inParallel([3, 1, 2], 3, async (turns) => {
    for (let i = 0; i < turns; i++) await new Promise(setImmediate)
    return turns * 10
  })
  assert.deepEqual(results, [30, 10, 20])
  assert.deepEqual(await inParallel([], 3, () => assert.fail()), [])
})

test('no more than so many are under way', async () => {
  let underWay = 0
  let most = 0
  await inParallel(Array.from({ length: 20 }), 4, async () => {
    underWay++
    most = Math.max(most, underWay)
    await new Promise(setImmediate)
    underWay--
  })
  assert.equal(most, 4)
})

test('after a failure nothing more is begun', async () => {
  let begun = 0
  const work = async (item: number) => {
    begun++
    await new Promise(setImmediate)
    if (item === 1) throw new Error('one')
  }
  await assert.rejects(inParallel([0, 1, 2, 3, 4, 5], 2, work), /one/)
  await new Promise(setImmediate)
  assert.ok(begun <= 3, `${begun} begun`)
})
