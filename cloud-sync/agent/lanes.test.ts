import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { SyncPart, SyncStream } from '#shared/wire/replication/sync.ts'
import { type AgentRig, startRig } from '#sync-testing/agent-rig.ts'
import type { Fault } from '#sync-testing/test-hub.ts'
import { Priorities } from './priorities.ts'

/** Starts a rig that has sent hello. */
async function startUp(t: TestContext): Promise<AgentRig> {
  const rig = await startRig(t)
  await rig.step('link', 'latest')
  return rig
}

function partsOf(rig: AgentRig, stream: SyncStream): SyncPart[] {
  return rig.hub.pushes.flatMap(({ parts }) => parts.filter((part) => part.stream === stream))
}

/** Refuses pushes for which `isBad` holds. */
function refuse(rig: AgentRig, fault: Fault, isBad: (parts: SyncPart[]) => boolean): void {
  rig.hub.faultOf = (path, body) => {
    if (path !== 'push') return null
    // a push was sent, or the hub would have refused to read it
    const { parts } = body as { parts: SyncPart[] }
    return isBad(parts) ? fault : null
  }
}

const hasStream = (stream: SyncStream) => (parts: SyncPart[]) => parts.some((part) => part.stream === stream)

test('the agent collects live telemetry for some seconds and sends it together', async (t) => {
  const rig = await startUp(t)
  for (let second = 0; second < 7; second++) {
    rig.source.append('telemetry', 10)
    await rig.step('telemetry')
    assert.equal(rig.hub.pushes.length, 0)
    rig.clock.advance(1_000)
  }
  await rig.step('telemetry')
  const counts = partsOf(rig, 'telemetry').map(({ count }) => count)
  assert.deepEqual(counts, [70])
})

test('the agent does not hold back a large amount of telemetry', async (t) => {
  const rig = await startUp(t)
  rig.source.append('telemetry', 20_000)
  rig.hub.limits = { ...rig.hub.limits, part_bytes: 4_000_000, body_bytes: 8_000_000 }
  await rig.step('telemetry')
  assert.ok(partsOf(rig, 'telemetry').length > 0)
})

test('rows that do not fit into a request follow immediately in the next', async (t) => {
  const rig = await startUp(t)
  rig.source.append('telemetry', 6_000)
  await rig.step('telemetry')
  rig.clock.advance(7_000)
  assert.equal(await rig.step('telemetry'), 0)
  await rig.step('telemetry')
  assert.ok(rig.hub.pushes.length >= 2)
})

test('a request respects the limits of the hub', async (t) => {
  const rig = await startRig(t)
  rig.hub.limits = { ...rig.hub.limits, part_bytes: 2_048, body_bytes: 8_192, parts: 3 }
  for (const stream of ['history', 'lock_events', 'notes'] as const) rig.source.append(stream, 300)
  await rig.drain()
  for (const { parts } of rig.hub.pushes) {
    assert.ok(parts.length <= 3)
    assert.ok(JSON.stringify(parts).length <= 8_192)
    for (const { data } of parts) assert.ok(Buffer.from(data, 'base64').length <= 2_048)
  }
})

test('several streams of events share a request, and each stays in order', async (t) => {
  const rig = await startUp(t)
  for (const stream of ['notes', 'lock_events', 'geofence_events', 'entities'] as const)
    rig.source.append(stream, stream === 'geofence_events' ? 500 : 2)
  await rig.step('events')
  const shown = rig.hub.pushes.map(({ parts }) => parts.map(({ stream }) => stream))
  assert.deepEqual(shown, [['notes', 'lock_events', 'geofence_events', 'entities']])
})

test('the agent halves a request that is too large, down to one row, and then grows it again', async (t) => {
  const rig = await startUp(t)
  rig.source.append('lock_events', 64)
  refuse(rig, { status: 413 }, (parts) => parts.reduce((sum, { count }) => sum + count, 0) > 5)
  await rig.drain()
  assert.ok(Math.max(...partsOf(rig, 'lock_events').map(({ count }) => count)) <= 5)
  rig.hub.faultOf = () => null
  for (let n = 0; n < 200; n++) {
    rig.source.append('lock_events', 1)
    await rig.step('events')
  }
  rig.source.append('lock_events', 50)
  await rig.step('events')
  assert.equal(partsOf(rig, 'lock_events').at(-1)?.count, 50)
})

test('a single row that is too large is reported and does not stop the other streams', async (t) => {
  const rig = await startUp(t)
  for (const stream of ['notes', 'lock_events', 'telemetry', 'history'] as const) rig.source.append(stream, 20)
  refuse(rig, { status: 413 }, hasStream('lock_events'))
  await rig.until(() => rig.agent.status.state === 'part_refused', 'the state is reported')
  assert.match(rig.agent.status.explanation, /lock_events.*a single row is too large/)
  await rig.until(() => rig.source.cursors().history.seq === rig.source.ends().history, 'the others')
  assert.equal(rig.source.cursors().notes.seq, rig.source.ends().notes)
  assert.equal(rig.source.cursors().lock_events.seq, 0)
})

test('a batch rejected three times is reported, retried later and does not stop the other streams', async (t) => {
  const rig = await startUp(t)
  for (const stream of ['notes', 'lock_events', 'entities', 'telemetry'] as const) rig.source.append(stream, 5)
  refuse(rig, { status: 400, code: 'invalid_data' }, hasStream('entities'))
  await rig.until(() => rig.agent.status.state === 'part_refused', 'the state is reported')
  assert.match(rig.agent.status.explanation, /does not accept a part of entities.*invalid_data/)
  await rig.until(() => rig.source.cursors().telemetry.seq === rig.source.ends().telemetry, 'the others')
  assert.equal(rig.source.cursors().lock_events.seq, rig.source.ends().lock_events)
  const asked = rig.hub.pushes.length
  const trouble = rig.agent.status.streams.find(({ stream }) => stream === 'entities')?.trouble
  assert.match(trouble ?? '', /refuses a part/)
  await rig.step('events')
  assert.equal(rig.hub.pushes.length, asked, 'not at once')
  rig.hub.faultOf = () => null
  rig.clock.advance(300_000)
  await rig.drain()
  await rig.until(() => rig.agent.status.state === 'in_sync', 'well again')
})

test('a stream that the gateway cannot read is reported, retried and does not stop the others', async (t) => {
  for (const damaged of ['history', 'entities'] as const) {
    const rig = await startUp(t)
    for (const stream of ['notes', 'lock_events', 'entities', 'telemetry', 'history'] as const)
      rig.source.append(stream, 5)
    const read = rig.source.nextPart.bind(rig.source)
    rig.source.nextPart = async (stream, ...rest) => {
      if (stream === damaged) throw new Error('the store cannot be read', { cause: 'malformed' })
      return read(stream, ...rest)
    }
    await rig.until(() => rig.agent.status.state === 'unreadable', 'the state is reported')
    const pattern = new RegExp(`the gateway cannot read the rest of ${damaged}: the store cannot be read .malformed.`)
    assert.match(rig.agent.status.explanation, pattern)
    const trouble = rig.agent.status.streams.find(({ stream }) => stream === damaged)?.trouble
    assert.match(trouble ?? '', /malformed/)
    const others = (['notes', 'lock_events', 'entities', 'telemetry', 'history'] as const).filter(
      (stream) => stream !== damaged,
    )
    const isSent = () => others.every((stream) => rig.source.cursors()[stream].seq === rig.source.ends()[stream])
    await rig.until(isSent, 'the others')
    rig.source.nextPart = read
    await rig.until(() => rig.isDrained, 'the rest')
    await rig.until(() => rig.agent.status.state === 'in_sync', 'well again')
  }
})

test('a push has no more records than the hub accepts, and a backlog keeps to the rate of the hub', async (t) => {
  const rig = await startRig(t)
  rig.hub.limits = { ...rig.hub.limits, records: 50, records_per_second: 100 }
  rig.source.append('history', 1_000)
  await rig.step('link')
  const startedAtMs = rig.clock.monotonicMs()
  await rig.drain()
  const counts = rig.hub.pushes.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0))
  assert.ok(Math.max(...counts) <= 50, `${counts}`)
  const seconds = (rig.clock.monotonicMs() - startedAtMs) / 1000
  assert.ok(seconds > 7 && seconds < 12, `${seconds} s for what takes 10 s without the burst`)
  assert.equal(rig.agent.failures.get('busy'), 0)
})

test('the agent makes requests smaller after one that took too long', async (t) => {
  const rig = await startRig(t, { timeoutMs: 80 })
  rig.source.append('lock_events', 64)
  refuse(rig, 'hang', (parts) => parts.reduce((sum, { count }) => sum + count, 0) > 20)
  await rig.drain(100, 300_000)
  assert.equal(rig.agent.failures.get('timeout') > 0, true)
})

test('the agent obeys Retry-After', async (t) => {
  const rig = await startUp(t)
  for (const status of [429, 503]) {
    rig.source.append('lock_events', 1)
    rig.hub.faultOf = (path) => (path === 'push' ? { status, headers: { 'retry-after': '40' } } : null)
    await rig.step('events')
    rig.hub.faultOf = () => null
    const before = rig.hub.pushes.length + rig.hub.hellos.length
    rig.clock.advance(39_900)
    for (const name of ['link', 'events', 'latest', 'telemetry'] as const) await rig.step(name)
    assert.equal(rig.hub.pushes.length + rig.hub.hellos.length, before, `${status}`)
    await rig.drain(100)
  }
})

test('after a hub rejects the key, the agent retries rarely and reports the rejection', async (t) => {
  const rig = await startRig(t)
  let asked = 0
  rig.hub.faultOf = () => {
    asked++
    return { status: 401, code: 'revoked_site_key' }
  }
  for (let second = 0; second < 290; second++) await rig.round(1_000)
  assert.equal(asked, 1)
  assert.match(rig.agent.status.explanation, /does not accept this gateway.*revoked_site_key.*CARTBARN_UPSTREAM_KEY/)
  rig.hub.faultOf = () => null
  rig.source.append('notes')
  await rig.drain()
})

test('an unreachable hub is retried at growing random intervals, and all lanes wait', async (t) => {
  const rig = await startRig(t)
  for (const stream of ['notes', 'telemetry', 'history'] as const) rig.source.append(stream)
  const askedAtMs: number[] = []
  const beganAtMs = rig.clock.monotonicMs()
  rig.hub.faultOf = () => {
    askedAtMs.push(rig.clock.monotonicMs() - beganAtMs)
    return { status: 503 }
  }
  while (rig.clock.monotonicMs() < beganAtMs + 3_600_000) await rig.round(5_000)
  assert.ok(askedAtMs.length >= 12 && askedAtMs.length < 60, `${askedAtMs.length} times in an hour`)
  const pauses = askedAtMs.slice(1).map((atMs, n) => atMs - (askedAtMs[n] ?? 0))
  assert.ok(Math.max(...pauses) <= 310_000)
  assert.equal(new Set(pauses.slice(-5)).size, 5)
  assert.equal(rig.agent.status.state, 'waiting')
})

test('after a long hub failure, live data goes immediately, the backlog at some time within a minute', async (t) => {
  const rig = await startRig(t, { seed: 3 })
  rig.hub.faultOf = () => ({ status: 503 })
  const beganAtMs = rig.clock.monotonicMs()
  while (rig.clock.monotonicMs() < beganAtMs + 600_000) await rig.round(5_000)
  rig.hub.faultOf = () => null
  for (const stream of ['lock_events', 'history'] as const) rig.source.append(stream)
  await rig.until(() => rig.source.cursors().lock_events.seq > 0, 'events')
  assert.equal(rig.source.cursors().history.seq, 0)
  const backAtMs = rig.clock.monotonicMs()
  await rig.drain()
  assert.ok(rig.clock.monotonicMs() - backAtMs <= 61_000)
})

test('sending a backlog yields to devices that wait for the disk', async (t) => {
  const rig = await startUp(t)
  rig.hub.limits = { ...rig.hub.limits, parts: 1, part_bytes: 1_024 }
  rig.source.append('history', 100)
  rig.isBusy = true
  let waits = 0
  await rig.until(() => {
    waits++
    return rig.isDrained
  }, 'drained although it is busy')
  assert.ok(waits > 5)
  const before = rig.hub.pushes.length
  rig.source.append('history', 1)
  assert.ok((await rig.step('history')) > 0)
  assert.equal(rig.hub.pushes.length, before)
})

test('a lane does not start a request while its previous one is running', async () => {
  const priorities = new Priorities()
  const { signal } = new AbortController()
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const running = priorities.run(0, signal, async () => {
    await first.promise
    order.push('events')
  })
  const later = priorities.run(3, signal, async () => void order.push('history'))
  const sooner = priorities.run(2, signal, async () => void order.push('telemetry'))
  await new Promise(setImmediate)
  assert.deepEqual(order, [])
  first.resolve()
  await Promise.all([running, later, sooner])
  assert.deepEqual(order, ['events', 'telemetry', 'history'])
})

test('a hub that responds without accepting data is reported as stuck and gets another hello', async (t) => {
  const rig = await startUp(t)
  rig.source.append('telemetry', 5)
  // the source has rows, and none of them may go yet
  rig.source.nextPart = async () => null
  const hellos = rig.hub.hellos.length
  for (let n = 0; n < 1_000 && rig.agent.status.state !== 'stuck'; n++) await rig.round(1_000)
  assert.equal(rig.agent.status.state, 'stuck')
  assert.match(rig.agent.status.explanation, /accepts no more data of telemetry/)
  await rig.round()
  assert.ok(rig.hub.hellos.length > hellos)
})

test('readings with old timestamps are not a backlog while the hub keeps up', async (t) => {
  const rig = await startUp(t)
  // all of them are dated 1970
  rig.source.append('telemetry', 50)
  await rig.step('monitor')
  await rig.drain()
  for (let second = 0; second < 90; second++) {
    rig.source.append('telemetry', 1)
    await rig.round(1_000)
    await rig.step('monitor')
    assert.equal(rig.agent.status.state, 'in_sync')
  }
  await rig.audit()
  assert.equal(rig.agent.status.audit.state, 'idle')
  rig.hub.faultOf = (path) => (path === 'push' ? { status: 429 } : null)
  for (let second = 0; second < 60; second++) {
    rig.source.append('telemetry', 1)
    await rig.round(1_000)
    await rig.step('monitor')
  }
  assert.equal(rig.agent.status.state, 'draining')
})
