import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { deviceTypes as builtIn } from '#devices/all.ts'
import { LATEST_MS } from '#domain/event-time.ts'
import { Events } from '#gateway/events.ts'
import { FairTurns } from '#shared/budgets/fair-turns.ts'
import { UnavailableError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { DEFAULT_SITE_SETTINGS } from '#shared/site/settings.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { Intent } from '#shared/wire/replication/sync.ts'
import { Store } from '#store/store.ts'
import { BlockTable } from '#testing/block-table.ts'
import { OpenBroker } from '#testing/open-broker.ts'
import { AuditContext } from '../audit-context.ts'
import { GatewayClock } from '../clock/gateway-clock.ts'
import { Commands } from '../commands/commands.ts'
import { CommandDelivery } from '../commands/delivery.ts'
import { LockGate } from '../commands/lock-gate.ts'
import { Fleet } from '../fleet.ts'
import { Users } from '../users.ts'
import { intentCommandId } from './intent-command-id.ts'
import { IntentInbox } from './intent-inbox.ts'

/** Fault of a write: before it reaches the disk, or after, so that its result is lost. */
type Fault = 'before' | 'after' | null

const log = createLog('silent')
const unused = () => assert.fail('is not part of this test')

async function open(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-intents-'))
  const table = new BlockTable(join(dataDir, 'cartbarn.db'))
  table.newDevice('cart-1')
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, log)
  await store.start()
  const side = await OpenBroker.start()
  const faults: Fault[] = []
  const faulty = {
    read: store.read,
    readers: store.readers,
    get health() {
      return store.health
    },
    write: (async (name, input, onWritten, also) => {
      const fault = faults.shift() ?? null
      if (fault === null) return store.write(name, input, onWritten, also)
      if (fault === 'after') await store.write(name, input, undefined, also)
      throw new UnavailableError('the store stopped while writing')
    }) satisfies typeof store.write as typeof store.write,
  }
  const clock = new GatewayClock({ system: new FakeClock(), isSynchronized: () => true })
  clock.start({ markMs: 0, confirmedMs: 0 })
  const events = new Events(log)
  const fleet = new Fleet()
  fleet.load(store.read, LATEST_MS)
  const users = new Users({ store: faulty, events, clock, log })
  await users.createFirstAdmin('a-key-of-at-least-24-characters', true)
  await users.start()
  const turns = new FairTurns()
  const sent: string[] = []
  const downlink = {
    prepare: (message: Parameters<typeof side.broker.prepare>[0]) => side.broker.prepare(message),
    send: (_hardwareId: string, _topic: string, payload: string) => sent.push(JSON.parse(payload).id) > 0,
  }
  const unjudged = { of: () => undefined, evaluateNow: unused }
  const site = { settings: DEFAULT_SITE_SETTINGS }
  const gate = new LockGate({ carts: unjudged, fleet, site, clock })
  const delivery = new CommandDelivery({ store: faulty, downlink, events, clock, turns, gate, log })
  await delivery.start()
  const types = new Map(builtIn.map((type) => [type.name, type]))
  const commands = new Commands({
    store: faulty,
    fleet,
    delivery,
    turns,
    gate,
    clock,
    deviceTypes: { find: (name) => types.get(name), all: () => [...types.values()], requireKnown: unused },
    geofenceTokens: { tokenFor: unused },
  })
  const inbox = new IntentInbox({
    origins: new AuditContext(),
    store: faulty,
    fleet,
    users,
    commands,
    clock,
    log,
    groups: { require: unused },
    deviceConfigs: { setDeviceLayer: unused, setGroupLayer: unused },
    geofences: { replace: unused, idsOfSite: unused },
    allowed: 'all',
    onResend: () => undefined,
  })
  t.after(async () => {
    await delivery.stop()
    await users.stop()
    await side.stop()
    await store.stop()
    table.close()
    rmSync(dataDir, { recursive: true })
  })
  const count = (sql: string) => table.connection.get<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`)?.n
  let seq = 0
  const intentOf = (kind: string, body: Record<string, unknown>): Intent => ({
    intent_id: `i${++seq}`,
    seq,
    kind,
    body,
    issued_at_ms: clock.nowMs(),
    expires_at_ms: clock.nowMs() + 60_000,
    base_rev: null,
  })
  const receive = (intent: Intent) => inbox.receive(intent)
  return { inbox, receive, intentOf, users, faults, sent, count, table }
}

const LOCK = { hardware_id: 'cart-1', command: 'lock' }

for (const fault of ['before', 'after'] as const) {
  test(`a user is disabled and reported once, even if the store failed ${fault} it wrote that`, async (t) => {
    const { receive, intentOf, users, faults, count } = await open(t)
    const { row } = await users.create({ name: 'U', email: null, role: 'user', allowedHardwareIds: null })
    const intent = intentOf('user.disable', { user_id: row.userId })
    faults.push(fault)
    await assert.rejects(receive(intent), UnavailableError)
    assert.equal((await receive(intent)).status, 'applied')
    assert.deepEqual([count('note'), count('intent_inbox'), count('user WHERE is_active = 0')], [1, 1, 1])
  })

  test(`a command exists and is sent once, even if the store failed ${fault} it wrote that`, async (t) => {
    const { receive, intentOf, faults, sent, count } = await open(t)
    const intent = intentOf('command.send', LOCK)
    const commandId = intentCommandId(intent.intent_id)
    faults.push(fault)
    await assert.rejects(receive(intent), UnavailableError)
    assert.equal((await receive(intent)).status, 'applied')
    await eventually(() => sent.length > 0, 'it is sent')
    assert.deepEqual(sent, [commandId])
    assert.deepEqual([count('note'), count('intent_inbox'), count('command')], [1, 1, 1])
  })

  test(`later intents wait until an intent is decided: the store failed ${fault} it wrote that`, async (t) => {
    const { inbox, receive, intentOf, faults, count } = await open(t)
    const [first, second] = [intentOf('command.send', LOCK), intentOf('resend', {})]
    faults.push(fault)
    await assert.rejects(receive(first), UnavailableError)
    assert.equal(inbox.lastSeq(), 0, 'it is asked for again')
    faults.push(...(fault === 'before' ? (['before'] as const) : []))
    if (fault === 'before') {
      await assert.rejects(receive(second), UnavailableError)
      assert.deepEqual([inbox.lastSeq(), count('intent_inbox')], [0, 0])
    }
    assert.equal((await receive(second)).status, 'applied')
    assert.deepEqual([inbox.lastSeq(), count('intent_inbox'), count('note')], [2, 2, 2])
  })
}

test('an intent that fails for an unknown reason is rejected and does not block later ones', async (t) => {
  const { receive, intentOf, count } = await open(t)
  const intent = intentOf('config.set', { hardware_id: 'cart-1', config: {} })
  const { status, reason } = await receive(intent)
  assert.deepEqual([status, reason], ['rejected', 'internal error of the gateway; see its log'])
  assert.equal(count('note'), 1)
})

test('each new intent deletes a few old records, but never the last', async (t) => {
  const { inbox, receive, intentOf, table, count } = await open(t)
  const insert = table.connection.db.prepare(
    `INSERT INTO intent_inbox (intent_id, seq, kind, status, received_at_ms) VALUES (?, ?, 'resend', 'applied', 0)`,
  )
  for (let i = 1; i <= 10; i++) insert.run(`old${i}`, i)
  assert.equal(inbox.lastSeq(), 10)
  // an intent from long ago, whose record was deleted
  await receive({ ...intentOf('resend', {}), seq: 1 })
  assert.equal(inbox.lastSeq(), 10)
  for (let i = 11; i <= 13; i++) await receive({ ...intentOf('resend', {}), seq: i })
  assert.equal(inbox.lastSeq(), 13)
  assert.deepEqual([count('intent_inbox'), count('intent_inbox WHERE received_at_ms = 0')], [4, 0])
})
