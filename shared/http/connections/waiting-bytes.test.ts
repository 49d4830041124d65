import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaitingBytes } from './waiting-bytes.ts'

function bytesOf(limits: { perOwner: number; total: number }) {
  const cut: string[] = []
  let refused = 0
  const waiting = new WaitingBytes(limits, () => refused++)
  const connection = (owner: string, name: string) => ({ owner, cut: () => cut.push(name) })
  return { waiting, connection, cut, refused: () => refused }
}

test('over the limit of a budget key its fullest connection is closed, and no other key is affected', () => {
  const { waiting, connection, cut, refused } = bytesOf({ perOwner: 100, total: 1_000 })
  const [small, large, other] = [connection('a', 'small'), connection('a', 'large'), connection('b', 'other')]
  waiting.set(other, 100)
  waiting.set(small, 30)
  waiting.set(large, 70)
  assert.deepEqual(cut, [])
  waiting.set(small, 31)
  assert.deepEqual([cut, refused(), waiting.total], [['large'], 1, 131])
})

test('over the total limit the budget key with most bytes is closed, whichever came last', () => {
  const { waiting, connection, cut } = bytesOf({ perOwner: 100, total: 150 })
  for (let i = 0; i < 9; i++) waiting.set(connection('a', `a${i}`), 10)
  waiting.set(connection('b', 'b'), 50)
  waiting.set(connection('c', 'c'), 15)
  assert.deepEqual(cut, ['a0'])
  assert.equal(waiting.total, 145)
})

test('a single waiting response is sent whatever its size, and sent bytes free their share', () => {
  const { waiting, connection, cut } = bytesOf({ perOwner: 100, total: 150 })
  const [first, second] = [connection('a', 'first'), connection('b', 'second')]
  waiting.set(first, 1_000)
  waiting.set(first, 0)
  waiting.set(second, 120)
  assert.deepEqual([cut, waiting.total], [[], 120])
  waiting.set(first, 0)
  waiting.set(second, 0)
  assert.equal(waiting.total, 0)
})
