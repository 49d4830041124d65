import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { LATEST_MS } from '#domain/event-time.ts'
import { UnavailableError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Store } from '#store/store.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { Fleet } from '../fleet.ts'
import { ConfigLayers } from './layers.ts'
import { ConfigPublisher } from './publisher.ts'

const DEVICES = 250
const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-configs-'))
const log = createLog('silent')
const clock = new FakeClock()
const fleet = new Fleet()
const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 10_000 }, log)
let side: OpenBroker
/** Number of writes that may still succeed. */
let writesLeft = Number.POSITIVE_INFINITY

before(async () => {
  await store.start()
  side = await OpenBroker.start()
  for (let i = 0; i < DEVICES; i++) {
    await store.write('createDevice', {
      hardwareId: `cart-${i}`,
      deviceType: 'teebox',
      name: null,
      groupId: null,
      mqttPasswordHash: 'x',
      nowMs: clock.nowMs(),
      publication: { version: null, sessionChanges: [] },
    })
  }
  fleet.load(store.read, LATEST_MS)
})
after(async () => {
  await side.stop()
  await store.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

function createPublisher(): { publisher: ConfigPublisher; layers: ConfigLayers } {
  const layers = new ConfigLayers()
  const write: typeof store.write = (name, input, onWritten) => {
    if (writesLeft-- > 0) return store.write(name, input, onWritten)
    return Promise.reject(new UnavailableError('the store cannot be written'))
  }
  const publisher = new ConfigPublisher({
    store: { read: store.read, write },
    fleet,
    layers,
    downlink: side.broker,
    clock,
    log,
  })
  publisher.load()
  layers.set({ kind: 'type', deviceType: 'teebox', layer: { step: 0 } })
  return { publisher, layers }
}

/** Number of devices to which each configuration was published. */
function publishedBy(publisher: ConfigPublisher): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { row } of fleet.all()) {
    const config = publisher.publishedTo(row.hardwareId)?.config ?? 'nothing'
    counts[config] = (counts[config] ?? 0) + 1
  }
  return counts
}

test('configurations are published in several transactions, and those left out by a fault follow once', async () => {
  const { publisher, layers } = createPublisher()
  assert.deepEqual(publishedBy(publisher), { nothing: DEVICES })
  await publisher.start()
  assert.deepEqual(publishedBy(publisher), { '{"step":0}': DEVICES })

  writesLeft = 1
  const change = { kind: 'type' as const, deviceType: 'teebox', layer: { step: 1 } }
  const subjects = fleet.all().map(({ row }) => row)
  const { published } = await publisher.inTurn((publish) =>
    publish(subjects, change, (publication, commit) => store.write('publishConfigs', publication, commit)),
  )
  assert.deepEqual(layers.of({ hardwareId: 'cart-1', deviceType: 'teebox', groupId: null }).type, { step: 1 })
  // the first chunk with the change itself, one more before the fault
  assert.ok(published > 100 && published < DEVICES, `${published} published`)
  assert.deepEqual(publishedBy(publisher), { '{"step":0}': DEVICES - published, '{"step":1}': published })

  writesLeft = Number.POSITIVE_INFINITY
  await publisher.publishDifferences()
  assert.deepEqual(publishedBy(publisher), { '{"step":1}': DEVICES })
  const before = fleet.all().map(({ row }) => publisher.publishedTo(row.hardwareId))
  await publisher.publishDifferences()
  const shown = fleet.all().map(({ row }) => publisher.publishedTo(row.hardwareId))
  assert.deepEqual(shown, before)
  // the retained messages are the published ones
  const next = createPublisher().publisher
  const found = fleet.all().map(({ row }) => next.publishedTo(row.hardwareId))
  assert.deepEqual(found, before)
})

test('a start continues when no configuration can be published', async () => {
  const { publisher } = createPublisher()
  writesLeft = 0
  await publisher.start()
  writesLeft = Number.POSITIVE_INFINITY
  await publisher.publishDifferences()
  assert.deepEqual(publishedBy(publisher), { '{"step":0}': DEVICES })
})

test('a change that fails lets the next one run', async () => {
  const { publisher } = createPublisher()
  const order: string[] = []
  const failing = publisher.inTurn(async () => {
    await new Promise(setImmediate)
    order.push('first')
    throw new Error('refused')
  })
  const next = publisher.inTurn(async () => order.push('second'))
  await assert.rejects(failing, /refused/)
  await next
  assert.deepEqual(order, ['first', 'second'])
})
