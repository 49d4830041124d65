import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SyncAgent } from '#agent/agent.ts'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { sentLockEvent } from '#hub/testing/reported.ts'
import { createLog } from '#shared/log.ts'
import type { PartLimits, StreamPart } from '#shared/sync-source.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { SyncStream } from '#shared/wire/replication/sync.ts'
import { MemorySource, type TestRow } from '#sync-testing/memory-source.ts'

/** The last accepted push may be a tenth of it. */
const MAX_BYTES = 11_000_000
const AT_MS = Date.UTC(2026, 4, 1, 12)

/** Rows as a hub can store them. */
class EventSource extends MemorySource {
  override async nextPart(stream: SyncStream, after: number, limits: PartLimits): Promise<StreamPart | null> {
    const part = await super.nextPart(stream, after, limits)
    if (part === null) return null
    const rows = (JSON.parse(Buffer.from(part.data).toString()) as TestRow[]).map(({ seq, id }) =>
      stream === 'notes'
        ? { seq, note_id: id, kind: 'note', at_ms: AT_MS, body: {} }
        : sentLockEvent(seq, { event_id: id, at_ms: AT_MS, code: 'x'.repeat(2000) }),
    )
    return { ...part, data: Buffer.from(JSON.stringify(rows)) }
  }
}

async function startAgent(t: TestContext, hub: TestHub) {
  const { siteId, key } = await hub.hub.sites.add('Full')
  const clock = new FakeClock()
  const source = new EventSource(clock)
  const agent = new SyncAgent({
    source,
    site: siteId,
    dataDir: undefined,
    clock,
    program: 'cartbarn 0.0.0',
    log: createLog('silent'),
    latest: {
      takeChanged: () => new Set<string>(),
      deviceJson: (hardwareId) => ({ hardware_id: hardwareId }),
      hardwareIds: () => ['cart-1'],
    },
    upstream: { url: hub.hub.url(), key, isInsecureAllowed: false },
    isBusy: () => false,
  })
  t.after(() => agent.stop())
  return {
    agent,
    source,
    siteId,
    clock,
    async until(isSo: () => boolean, what: string): Promise<void> {
      const { link, events, latest, monitor } = agent.loops
      for (let n = 0; n < 500; n++) {
        if (isSo()) return
        await link.runOnce()
        const pauses = await Promise.all([events, latest, monitor].map((loop) => loop.runOnce()))
        clock.advance(Math.max(1, Math.min(1_000, ...pauses)))
      }
      throw new Error(`never: ${what}: ${JSON.stringify(agent.status)}`)
    },
  }
}

for (const kind of LONG_SUITE_KINDS) {
  test(`a gateway whose site is full keeps what the hub does not take, on ${kind.name}`, {
    skip: kind.skip,
  }, async (t) => {
    const hub = await openHub(kind, { siteMaxBytes: MAX_BYTES })
    t.after(() => hub.stop())
    const { agent, source, siteId, clock, until } = await startAgent(t, hub)
    const { database } = hub.hub
    const stored = async (stream: string) => {
      const sql = 'SELECT COUNT(*) AS count FROM event WHERE site_id = $1 AND stream = $2'
      return (await database.get<{ count: number }>(sql, [siteId, stream]))?.count
    }
    const isAt = (stream: SyncStream) => source.cursors()[stream].seq === source.ends()[stream]
    source.append('lock_events', 4000)
    await until(() => isAt('lock_events'), 'the first')
    source.append('lock_events', 2000)
    source.append('notes', 3)
    await until(() => agent.status.state === 'hub_full', 'the state is reported')
    await until(() => isAt('notes'), 'what is small')
    assert.equal(await stored('notes'), 3)
    const before = (await stored('lock_events')) ?? 0
    assert.ok(before >= 4000 && before < 6000, `${before} events`)
    const { explanation, streams } = agent.status
    assert.match(explanation, /takes no more lock_events: the hub keeps at most 0 GB of this site/)
    assert.match(explanation, /keeps unacknowledged data/)
    assert.match(streams.find(({ stream }) => stream === 'lock_events')?.trouble ?? '', /site_full/)

    // sent again, rarely, and with one row each time
    const { refused } = hub.hub
    const sentBefore = agent.sentBytes.get('push')
    const refusedBefore = refused.get('site_full')
    const askedUntilMs = clock.monotonicMs() + 60 * MINUTE_MS
    await until(() => {
      clock.advance(20_000)
      return clock.monotonicMs() > askedUntilMs
    }, 'an hour')
    const asked = refused.get('site_full') - refusedBefore
    assert.ok(asked >= 3 && asked <= 60, `${asked} times in an hour`)
    const bytes = (agent.sentBytes.get('push') - sentBefore) / asked
    assert.ok(bytes < 1000, `${bytes} bytes each time`)

    // counted after an admin has made room: nothing is missing then, and nothing is duplicated
    await database.run('UPDATE site SET stored_bytes = 0 WHERE site_id = $1', [siteId])
    await until(() => {
      if (agent.status.state === 'hub_full') clock.advance(MINUTE_MS)
      return isAt('lock_events') && agent.status.state === 'in_sync'
    }, 'all of it')
    assert.equal(await stored('lock_events'), 6000)
  })
}
