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

/** `count` pages of records whose times are their numbers. */
function pages(count: number) {
  return async ({ limit, fromMs, toMs, order }: Omit<HistoryRequest, 'previousMs'>) => {
    const newest = Math.min(toMs, 2 * (count - 1) + 1)
    if (order === 'desc') return { text: new Uint8Array(), rows: Math.min(1, limit), lastAtMs: newest }
    const from = Math.max(1, fromMs)
    const rows = Math.min(limit, newest - from + 1)
    const text = new TextEncoder().encode(`page ${(from + 1) / 2}\n`)
    return { text, rows, lastAtMs: from + rows - 1 }
  }
}

function download(slots: Slots, more: object = {}) {
  return { userId: 'user', slots, mayGoOn: () => true, pageRows: 2, ...more }
}

test('a reader that reads none of the available data is aborted, and its slot is freed', async () => {
  const slots = new Slots({ perOwner: 1 })
  const stream = await streamHistory(pages(100), REQUEST, FRAME, download(slots, { stallMs: 30 }))
  const reader = stream.getReader()
  await reader.read()
  assert.equal(slots.taken, 1)
  await assert.rejects(reader.closed, /reads nothing/)
  assert.equal(slots.taken, 0)
})

test('a reader that keeps reading is not aborted, however slow it is', async () => {
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

test('slots are freed however a download ends: completed, left, rejected, or failed in the store', async () => {
  const slots = new Slots({ perOwner: 1 })
  const whole = await streamHistory(pages(3), REQUEST, FRAME, download(slots))
  await new Response(whole).text()
  assert.equal(slots.taken, 0)

  const left = await streamHistory(pages(100), REQUEST, FRAME, download(slots))
  await left.cancel()
  assert.equal(slots.taken, 0)

  const refused = await streamHistory(pages(100), REQUEST, FRAME, download(slots, { mayGoOn: () => false }))
  await assert.rejects(new Response(refused).text(), /has lost access/)
  assert.equal(slots.taken, 0)

  const read = pages(100)
  let reads = 0
  const broken = await streamHistory(
    async (page: Omit<HistoryRequest, 'previousMs'>) => {
      if (++reads === 4) throw new Error('the store cannot be read')
      return read(page)
    },
    REQUEST,
    FRAME,
    download(slots),
  )
  await assert.rejects(new Response(broken).text(), /cannot be read/)
  assert.equal(slots.taken, 0)
})

test('a response of one page takes no slot', async () => {
  const slots = new Slots({ perOwner: 0 })
  const one = await streamHistory(pages(1), REQUEST, FRAME, download(slots))
  assert.equal(await new Response(one).text(), 'page 1\n')
  await assert.rejects(streamHistory(pages(2), REQUEST, FRAME, download(slots)), {
    code: 'too_many_downloads',
  })
})

test('a response of several pages ends at the newest record at the time of the request', async () => {
  // also records that a device ahead of the gateway's clock has reported; none that comes during the download
  const times = Array.from({ length: 9 }, (_, i) => 10 + i)
  const readPage = async ({ fromMs, toMs, limit, order }: Omit<HistoryRequest, 'previousMs'>) => {
    const found = times.filter((atMs) => atMs >= fromMs && atMs <= toMs)
    const atMs = order === 'asc' ? found.slice(0, limit) : found.slice(-limit)
    times.push((times.at(-1) ?? 0) + 1)
    return {
      text: new TextEncoder().encode(atMs.map((one) => `${one}\n`).join('')),
      rows: atMs.length,
      lastAtMs: (order === 'asc' ? atMs.at(-1) : atMs[0]) ?? fromMs,
    }
  }
  const whole = Array.from({ length: 10 }, (_, i) => `${10 + i}\n`).join('')
  const stream = await streamHistory(readPage, REQUEST, FRAME, download(new Slots({ perOwner: 1 })))
  assert.equal(await new Response(stream).text(), whole)
})
