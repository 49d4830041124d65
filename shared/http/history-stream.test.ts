import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Slots } from '#shared/budgets/slots.ts'
import type { HistoryRequest } from '#shared/history/page.ts'
import { streamHistory } from './history-stream.ts'

const REQUEST: Omit<HistoryRequest, 'previousMs'> = {
  hardwareId: 'cart-1',
  shortId: 'a',
  order: 'asc',
  format: 'ndjson',
  fromMs: 0,
  toMs: 1_000_000,
  limit: Number.MAX_SAFE_INTEGER,
}
const FRAME = { head: '', foot: '' }

function pages(count: number) {
  let page = 0
  return async (request: { limit: number }) => {
    page++
    const rows = page < count ? request.limit : 1
    return { text: new TextEncoder().encode(`page ${page}\n`), rows, lastAtMs: page }
  }
}

function download(slots: Slots, more: object = {}) {
  return { userId: 'user', slots, nowMs: 1_000, mayGoOn: () => true, pageRows: 2, ...more }
}

test('a reader that takes nothing of what is ready is cut off, and its slot is free', async () => {
  const slots = new Slots({ perOwner: 1 })
  const stream = await streamHistory(pages(100), REQUEST, FRAME, download(slots, { stallMs: 30 }))
  const reader = stream.getReader()
  await reader.read()
  assert.equal(slots.taken, 1)
  await assert.rejects(reader.closed, /takes nothing/)
  assert.equal(slots.taken, 0)
})

test('a reader that goes on taking is not, however slow it is', async () => {
  const slots = new Slots({ perOwner: 1 })
  const stream = await streamHistory(pages(8), REQUEST, FRAME, download(slots, { stallMs: 300 }))
  let text = ''
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk)
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
  assert.match(text, /page 8\n$/)
  assert.equal(slots.taken, 0)
})

test('slots come back however a download ends: to its end, left, refused, or with an error of the store', async () => {
  const slots = new Slots({ perOwner: 1 })
  const whole = await streamHistory(pages(3), REQUEST, FRAME, download(slots))
  await new Response(whole).text()
  assert.equal(slots.taken, 0)

  const left = await streamHistory(pages(100), REQUEST, FRAME, download(slots))
  await left.cancel()
  assert.equal(slots.taken, 0)

  const refused = await streamHistory(pages(100), REQUEST, FRAME, download(slots, { mayGoOn: () => false }))
  await assert.rejects(new Response(refused).text(), /may not see/)
  assert.equal(slots.taken, 0)

  const read = pages(100)
  let reads = 0
  const broken = await streamHistory(
    async (page: { limit: number }) => {
      if (++reads === 3) throw new Error('the store cannot be read')
      return read(page)
    },
    REQUEST,
    FRAME,
    download(slots),
  )
  await assert.rejects(new Response(broken).text(), /cannot be read/)
  assert.equal(slots.taken, 0)
})

test('an answer of one page takes no slot', async () => {
  const slots = new Slots({ perOwner: 0 })
  const one = await streamHistory(pages(1), REQUEST, FRAME, download(slots))
  assert.equal(await new Response(one).text(), 'page 1\n')
  await assert.rejects(streamHistory(pages(2), REQUEST, FRAME, download(slots)), {
    code: 'too_many_downloads',
  })
})
