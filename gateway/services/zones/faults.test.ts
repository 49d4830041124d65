import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { UnavailableError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import type { SiteZone } from '#shared/zones/zone.ts'
import { Store } from '#store/store.ts'
import type { GroupRow } from '#store/tables/groups.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { Geofences } from './geofences.ts'
import { ZoneMessages } from './messages.ts'
import { ZoneSets } from './sets.ts'
import { Zones } from './zones.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-zones-'))
const log = createLog('silent')
const clock = new FakeClock()
const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 10_000 }, log)
const GROUPS: GroupRow[] = [1, 2].map((groupId) => ({ groupId, name: '', createdAtMs: 0, updatedAtMs: 0 }))
const BY = { userId: 'u', name: 'Jo' }
let side: OpenBroker

/** Fault of the next write: none, rejected, or written while the program stops before it knows the result. */
let fault: 'none' | 'refused' | 'killed' = 'none'

const write: typeof store.write = async (name, input, onWritten) => {
  const is = fault
  fault = 'none'
  if (is === 'none') return store.write(name, input, onWritten)
  if (is === 'killed') await store.write(name, input)
  throw new UnavailableError('the store cannot be written')
}

/** Builds the services as after a start. */
function start() {
  const events = new Events(log)
  const published: number[] = []
  events.on('zonesChanged', ({ version }) => published.push(version))
  const sets = new ZoneSets()
  const parts = { store: { read: store.read, write }, downlink: side.broker, clock, sets }
  const shared = { ...parts, messages: new ZoneMessages(), turns: new SerialQueue() }
  const groups = { has: (groupId: number) => groupId === 1 || groupId === 2, all: () => GROUPS }
  const geofences = new Geofences({ ...shared, isGroup: groups.has })
  geofences.load()
  return { geofences, zones: new Zones({ ...shared, events, groups }), published }
}

function zone(id: string): SiteZone {
  return {
    id,
    name: id,
    type: 'stop',
    isEnabled: true,
    isVisible: false,
    message: null,
    maxSpeedKmh: null,
    hole: null,
    groups: null,
    shape: { kind: 'circle', center: { latE7: 1, longE7: 1 }, radiusM: 9 },
  }
}

/** Retained messages for teeboxes, by group: the version and the zones. */
function retained(): string[] {
  return store.read.zoneMessages().map(({ payload }) => {
    const { v, z }: { v: number; z: { i: string }[] } = JSON.parse(Buffer.from(payload).toString())
    return [v, ...z.map(({ i }) => i)].join(' ')
  })
}

before(async () => {
  await store.start()
  side = await OpenBroker.start()
})
after(async () => {
  await side.stop()
  await store.stop()
  rmSync(dataDir, { recursive: true, force: true })
})
beforeEach(async () => {
  const { geofences, zones } = start()
  await zones.replace([], { by: BY })
  await geofences.publishMissing([1, 2])
})

test('a change that cannot be written changes nothing, and the next one is accepted', async () => {
  const { zones, published } = start()
  const [before, was] = [zones.current, retained()]
  fault = 'refused'
  await assert.rejects(zones.replace([zone('a')], { by: BY }), UnavailableError)
  assert.deepEqual([zones.current, retained(), published], [before, was, []])
  await zones.replace([zone('b')], { by: BY })
  assert.deepEqual(published, [before.version + 1])
  assert.ok(retained().every((message) => message.endsWith(' b')))
})

test('a change written before a kill is present after the start, with the same published message', async () => {
  const { zones } = start()
  await zones.replace([zone('a')], { by: BY })
  fault = 'killed'
  await assert.rejects(zones.replace([zone('b')], { by: BY }))
  const next = start()
  const ids = next.zones.current.zones.map(({ id }) => id)
  assert.deepEqual(ids, ['b'])
  const was = retained()
  assert.ok(was.every((message) => message.endsWith(' b')))
  await next.geofences.publishMissing([1, 2])
  assert.deepEqual(retained(), was)
  assert.equal(next.zones.versions()[0]?.version, next.zones.current.version)
})

test('a retained message that does not match the zones is published again as a later version', async () => {
  const { zones } = start()
  await zones.replace([zone('a')], { by: BY })
  const older = side.broker.prepare({ topic: 'sit/1/sz', payload: '{"v":1,"z":[]}', isRetained: true })
  await store.write('saveGeofenceSet', {
    groupId: 99,
    version: 0,
    siteVersion: 0,
    siteSince: 0,
    zonesJson: '[]',
    updatedAtMs: 0,
    sessionChanges: older.changes,
  })
  older.commit()
  assert.ok(retained().includes('1'))
  const next = start()
  await next.geofences.publishMissing([1, 2])
  const [one] = retained()
  assert.match(one ?? '', /^\d+ a$/)
  assert.equal(Number((one ?? '').split(' ')[0]), next.geofences.versionOf(1))
})

test('watched sets are the same objects until zones change', async () => {
  const { zones, geofences } = start()
  await zones.replace([zone('a'), { ...zone('two'), groups: [2] }], { by: BY })
  const [none, one, two] = [null, 1, 2].map((groupId) => geofences.watchedOf(groupId))
  assert.equal(geofences.watchedOf(1), one)
  const idsOf = (set: ReturnType<typeof geofences.watchedOf> | undefined) => set?.watched.zones.map(({ id }) => id)
  assert.deepEqual([idsOf(none), idsOf(one), idsOf(two)], [['a'], ['a'], ['a', 'two']])
  await geofences.replace(2, [{ ...zone('own'), type: 'parking' }])
  assert.equal(geofences.watchedOf(1), one)
  const changed = geofences.watchedOf(2)
  assert.deepEqual(idsOf(changed), ['a', 'two', 'own'])
  assert.deepEqual([changed?.groupOf('own'), changed?.groupOf('two')], [2, null])
  assert.deepEqual([changed?.types.has('parking'), one?.types.has('parking')], [true, false])
  await geofences.replace(2, [])
  await zones.replace([{ ...zone('a'), isEnabled: false }], { by: BY })
  assert.equal(geofences.watchedOf(1), null)
})
