import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonItems } from '#shared/trips/found.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { mergedItems } from './merged-items.ts'

interface Item {
  list: number
  startMs: number
  text: string
}

function listOf(items: readonly Item[]): JsonItems {
  const texts = items.map((item) => JSON.stringify(item))
  let end = -1
  const ends = texts.map(({ length }) => {
    end += length + 1
    return end
  })
  return {
    text: new TextEncoder().encode(texts.join(',')),
    ends: Uint32Array.from(ends),
    startMs: Float64Array.from(items, ({ startMs }) => startMs),
  }
}

/** Lists of items with few different times; some of them are large enough for more than one piece. */
const lists = fc
  .array(fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.constantFrom(0, 3, 30_000)), { maxLength: 12 }), {
    maxLength: 6,
  })
  .map((all) =>
    all.map((items, list) =>
      items.toSorted(([a], [b]) => a - b).map(([startMs, length]) => ({ list, startMs, text: 'x'.repeat(length) })),
    ),
  )

test('lists are merged by time, equal times in list order; descending order is the exact reverse', async () => {
  await fc.assert(
    fc.asyncProperty(lists, async (all) => {
      // a sort in JavaScript is stable
      const expected = all.flat().sort((a, b) => a.startMs - b.startMs)
      assert.deepEqual(parsed(await piecesOf(all.map(listOf))), expected)
      const descending = all.map((items) => listOf(items.toReversed()))
      assert.deepEqual(parsed(await piecesOf(descending, 'desc')), expected.toReversed())
    }),
  )
})

test('a long list is returned in chunks', async () => {
  const items = (list: number) => Array.from({ length: 500 }, (_, i) => ({ list, startMs: i, text: 'x'.repeat(500) }))
  const pieces = await piecesOf([items(0), items(1)].map(listOf))
  assert.ok(pieces.length >= 5, `${pieces.length} pieces`)
  assert.ok(pieces.every(({ length }) => length < 100_000))
})

test('the memory of the lists is freed at the end, and when a caller leaves in the middle', async () => {
  const long = () => listOf([{ list: 0, startMs: 0, text: 'x'.repeat(200_000) }])
  const [whole, left] = [
    [long(), long()],
    [long(), long()],
  ]
  assert.equal(parsed(await piecesOf(whole)).length, 2)
  for await (const _ of mergedItems(left, 'asc')) break
  for (const list of [...whole, ...left])
    for (const { buffer } of [list.text, list.ends, list.startMs]) assert.equal(buffer.detached, true)
})

function parsed(pieces: Uint8Array[]): Item[] {
  return JSON.parse(`[${Buffer.concat(pieces)}]`)
}

async function piecesOf(all: JsonItems[], order: ListOrder = 'asc'): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of mergedItems(all, order)) pieces.push(piece)
  return pieces
}
