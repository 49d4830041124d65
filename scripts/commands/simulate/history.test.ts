import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { FakeLink } from '#scripts/testing/fake-link.ts'
import { planFleet } from './fleet-plan.ts'
import { fillHistory } from './history.ts'

const NOW_MS = Date.UTC(2026, 4, 7, 20, 30)
const center = { lat: 28.41, long: -81.58 }

async function fill(seed: number, nowMs: number, signal = new AbortController().signal) {
  const links = new Map<string, FakeLink>()
  const progress = { samples: 0, rows: 0, bytes: 0, cartDays: 0, cartDaysTotal: 0 }
  await fillHistory({
    plan: planFleet({ seed, carts: 3, center, prefix: 't' }),
    days: 2,
    nowMs,
    signal,
    progress,
    createLink(device) {
      const link = new FakeLink()
      links.set(device.hardwareId, link)
      return link
    },
  })
  return { links, progress }
}

interface Wire {
  ts: number
  s?: Wire[]
}

function times(link: FakeLink): number[] {
  return link.of('tlm').flatMap((payload) => {
    const parsed: Wire | Wire[] = JSON.parse(payload)
    return (Array.isArray(parsed) ? parsed : (parsed.s ?? [])).map((sample) => sample.ts)
  })
}

function digest(links: Map<string, FakeLink>): string {
  const hash = createHash('sha256')
  for (const [hardwareId, link] of [...links].sort()) hash.update(hardwareId + JSON.stringify(link.published))
  return hash.digest('hex')
}

test('the same seed at the same time publishes the same bytes, another seed others', async () => {
  const first = digest((await fill(1, NOW_MS)).links)
  assert.equal(digest((await fill(1, NOW_MS)).links), first)
  assert.notEqual(digest((await fill(2, NOW_MS)).links), first)
})

test('a later run repeats every sample of an earlier one and only adds newer ones', async () => {
  const early = await fill(1, NOW_MS)
  const late = await fill(1, NOW_MS + 3_600_000)
  for (const [hardwareId, link] of early.links) {
    const lateLink = late.links.get(hardwareId)
    assert.ok(lateLink !== undefined)
    const earlyTimes = times(link)
    assert.deepEqual(times(lateLink).slice(0, earlyTimes.length), earlyTimes)
    assert.deepEqual(lateLink.of('evt').slice(0, link.of('evt').length), link.of('evt'))
  }
})

test('samples of a device arrive in order, each time once, none later than now', async () => {
  const { links, progress } = await fill(3, NOW_MS)
  let samples = 0
  for (const [hardwareId, link] of links) {
    const all = times(link)
    samples += all.length
    assert.ok(all.length > 300, `${hardwareId} has ${all.length}`)
    for (const [i, atMs] of all.entries()) assert.ok(atMs > (all[i - 1] ?? 0) && atMs <= NOW_MS)
    assert.equal(link.sleeps, 1)
  }
  assert.equal(samples, progress.samples)
  assert.ok(progress.cartDays > 6 && progress.cartDays <= progress.cartDaysTotal)
})

test('a cart reports its position every 5 s while out, every 60 s while in, 12 hours a day', async () => {
  const { links, progress } = await fill(5, NOW_MS)
  let rows = 0
  let bytes = 0
  for (const link of links.values())
    for (const payload of link.of('tlm')) {
      const parsed: Wire | Wire[] = JSON.parse(payload)
      for (const sample of Array.isArray(parsed) ? parsed : (parsed.s ?? []))
        rows += 'battery_voltage' in sample ? 2 : 1
      bytes += Buffer.byteLength(payload)
    }
  assert.deepEqual([progress.rows, progress.bytes], [rows, bytes])
  const lock = links.get('t-tb-002')
  assert.ok(lock !== undefined)
  const all = times(lock)
  const gaps = all.slice(1).map((atMs, i) => (atMs - (all[i] ?? 0)) / 1000)
  const count = (isSuch: (gap: number) => boolean) => gaps.filter(isSuch).length
  assert.ok(count((gap) => gap === 5) > 3000)
  assert.ok(count((gap) => gap === 60) > 300)
  // except the nights, and the first and last of each stretch
  assert.equal(
    count((gap) => gap > 60 && gap < 10 * 3600),
    0,
  )
  assert.ok(count((gap) => gap < 60 && gap !== 5) < 60, String(count((gap) => gap < 60 && gap !== 5)))
  const hours = new Set(all.map((atMs) => new Date(atMs).getUTCHours()))
  // half past six to half past six, five hours behind UTC
  assert.deepEqual(
    [...hours].sort((one, other) => one - other),
    Array.from({ length: 13 }, (_, i) => i + 11),
  )
})

test('lock events have unique ids and come from one device of each cart', async () => {
  const { links } = await fill(4, NOW_MS)
  assert.deepEqual(
    [...links].filter(([, link]) => link.of('evt').length > 0).map(([hardwareId]) => hardwareId),
    ['t-tb-001', 't-tb-002', 't-cc-003'],
  )
  for (const link of links.values()) {
    const ids = link.of('evt').map((payload): string => JSON.parse(payload).eid)
    assert.equal(new Set(ids).size, ids.length)
  }
})

test('filling ends when it is aborted, even if acknowledgements have stopped', async () => {
  const stopping = new AbortController()
  const filling = fillHistory({
    plan: planFleet({ seed: 1, carts: 1, center, prefix: 't' }),
    days: 1,
    nowMs: NOW_MS,
    signal: stopping.signal,
    progress: { samples: 0, rows: 0, bytes: 0, cartDays: 0, cartDaysTotal: 0 },
    createLink() {
      const link = new FakeLink()
      link.publish = () => {
        setImmediate(() => stopping.abort())
        return new Promise(() => {})
      }
      return link
    },
  })
  await assert.rejects(filling, { name: 'AbortError' })
})
