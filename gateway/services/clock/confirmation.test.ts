import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const NOW = Date.UTC(2026, 4, 1, 12)
/** Time for which devices must agree. */
const STEADY_MS = 2 * MINUTE_MS
const ALL = 'system,hardware,devices,admin'

interface Course {
  g: TestGateway
  clock: FakeClock
  system: { isSynchronized: boolean }
  hardware: { atMs: number | null }
  state: () => Promise<string>
  /** Resolves when the gateway has stored what the device sent. */
  send: (hardwareId: string, payload: unknown, level?: string) => Promise<void>
}

async function open(t: TestContext, confirmedBy = ALL): Promise<Course> {
  const clock = new FakeClock(NOW)
  const system = { isSynchronized: false }
  const hardware: Course['hardware'] = { atMs: null }
  const g = await startGateway(
    { CARTBARN_CLOCK_CONFIRMED_BY: confirmedBy },
    {
      clock,
      isTimeSynchronized: () => system.isSynchronized,
      hardwareTimesMs: () => (hardware.atMs === null ? [] : [hardware.atMs]),
    },
  )
  t.after(() => g.stop())
  const clients = new Map<string, MqttClient>()
  const state = async () => {
    const { clock: reported } = (await g.request('GET', '/health', { key: null })).body
    assert.equal(await metric(g, 'cartbarn_clock_confirmed'), Number(reported === 'confirmed'))
    return reported
  }
  const send = async (hardwareId: string, payload: unknown, level = 'tlm') => {
    const client = clients.get(hardwareId) ?? (await g.device(hardwareId))
    clients.set(hardwareId, client)
    await client.publishAsync(`dev/${hardwareId}/${level}`, JSON.stringify(payload), { qos: 1 })
  }
  return { g, clock, system, hardware, state, send }
}

const confirm = (g: TestGateway, atMs: number) => g.request('POST', '/clock/confirm', { body: { time: toIso(atMs) } })

const isSoon = ({ state }: Course, wanted: string) =>
  eventually(async () => (await state()) === wanted, `the clock is ${wanted}`)

test('after the start the clock is trusted and not confirmed', async (t) => {
  const { state } = await open(t)
  assert.equal(await state(), 'trusted')
})

test('the operating system confirms the clock, even long after the start', async (t) => {
  const course = await open(t)
  course.system.isSynchronized = true
  await isSoon(course, 'confirmed')
})

for (const [name, offMs, isConfirmed] of [
  ['the same', 2 * MINUTE_MS, true],
  ['another time', -2 * MINUTE_MS - 1, false],
] as const) {
  test(`a battery clock that shows ${name} confirms it at the start: ${isConfirmed}`, async (t) => {
    const { g, hardware, state } = await open(t)
    hardware.atMs = NOW + offMs
    await g.restart()
    assert.equal(await state(), isConfirmed ? 'confirmed' : 'trusted')
  })
}

const at = (ms: number) => ({ ts: NOW + ms, battery_voltage: 40 })
const NO_TIME = { battery_voltage: 40 }
const DATED_BY_GATEWAY = { boot: 1, up: 9000, s: [at(-MINUTE_MS), { up: 9000, battery_voltage: 1 }] }
const BATCH = { boot: 1, up: 9000, s: [at(-HOUR_MS), at(1000)] }

// what devices send, one after the other, and whether it confirms the clock
const DEVICES: [
  name: string,
  isConfirmed: boolean,
  ...sent: [hardwareId: string, payload: unknown, level?: string][],
][] = [
  ['two devices, within two minutes', true, ['a', at(-2 * MINUTE_MS)], ['b', at(2 * MINUTE_MS)]],
  ['one device, twice', false, ['a', at(0)], ['a', at(1000)]],
  ['one of two is off', false, ['a', at(0)], ['b', at(-2 * MINUTE_MS - 1)]],
  [
    'batches count by their newest',
    true,
    ['a', [at(-HOUR_MS), at(0), at(-MINUTE_MS)]],
    ['b', [at(-HOUR_MS), at(-HOUR_MS / 2)]],
    ['c', BATCH],
  ],
  ['a batch whose newest the gateway dated does not count', false, ['a', at(0)], ['b', DATED_BY_GATEWAY]],
  ['devices without a time', false, ['a', NO_TIME], ['b', NO_TIME], ['c', NO_TIME]],
  ['a device that asked for the time says ours', false, ['a', at(0)], ['b', { up: 1 }, 'tq'], ['b', at(0)]],
  ['a device that asks for the time after it agreed', false, ['a', at(0)], ['a', { up: 1 }, 'tq'], ['b', at(0)]],
  [
    'a device that goes on to say a later time agreed by accident',
    false,
    ['a', at(0)],
    ['a', [at(1000), at(HOUR_MS)]],
    ['b', at(0)],
  ],
]

for (const [name, isConfirmed, ...sent] of DEVICES) {
  test(`${name}: ${isConfirmed ? 'confirmed' : 'not confirmed'}`, async (t) => {
    const course = await open(t)
    for (const message of sent) await course.send(...message)
    assert.equal(await course.state(), 'trusted')
    course.clock.advance(STEADY_MS)
    assert.equal(await course.state(), isConfirmed ? 'confirmed' : 'trusted')
  })
}

test('old samples that devices send after an outage confirm no clock that stood still meanwhile', async (t) => {
  const { clock, send, state } = await open(t)
  for (const hardwareId of ['a', 'b']) await send(hardwareId, at(0))
  assert.equal(await state(), 'trusted')
  for (const hardwareId of ['a', 'b']) await send(hardwareId, [at(10 * MINUTE_MS), at(40 * MINUTE_MS)])
  clock.advance(STEADY_MS)
  assert.equal(await state(), 'trusted')
})

test('devices that agreed with a clock before it was set do not confirm it', async (t) => {
  const { clock, send, state } = await open(t)
  for (const hardwareId of ['a', 'b']) await send(hardwareId, at(0))
  clock.set(NOW + HOUR_MS)
  clock.advance(STEADY_MS)
  assert.equal(await state(), 'trusted')
})

test('a device that requested the time before a start still counts as a time source after it', async (t) => {
  const course = await open(t)
  await course.send('b', { up: 1 }, 'tq')
  await course.send('b', at(0))
  await course.g.restart()
  const passwords = new Map<string, string>()
  for (const hardwareId of ['a', 'b']) {
    const { body } =
      hardwareId === 'a'
        ? await course.g.request('POST', '/devices', { body: { hardware_id: 'a', device_type: 'teebox' } })
        : await course.g.request('POST', '/devices/b/rotate-mqtt-password')
    passwords.set(hardwareId, body.mqtt.password)
  }
  for (const [hardwareId, password] of passwords) {
    const client = await course.g.connect(hardwareId, password)
    await client.publishAsync(`dev/${hardwareId}/tlm`, JSON.stringify(at(1000)), { qos: 1 })
  }
  course.clock.advance(STEADY_MS)
  assert.equal(await course.state(), 'confirmed')
})

for (const [confirmedBy, isConfirmed] of [
  ['devices', true],
  ['system, hardware', false],
  ['admin', false],
] as const) {
  test(`two devices while ${confirmedBy} may confirm: ${isConfirmed}; an admin always confirms`, async (t) => {
    const { g, clock, send, state } = await open(t, confirmedBy)
    for (const hardwareId of ['a', 'b']) await send(hardwareId, at(0))
    clock.advance(STEADY_MS)
    assert.equal(await state(), isConfirmed ? 'confirmed' : 'trusted')
    assert.equal((await confirm(g, NOW + STEADY_MS)).status, 200)
    assert.equal(await state(), 'confirmed')
  })
}

test('the system and battery clocks do not confirm if only devices may', async (t) => {
  const { g, system, hardware, state } = await open(t, 'devices')
  system.isSynchronized = true
  hardware.atMs = NOW
  await g.restart()
  assert.equal(await state(), 'trusted')
})

test('the confirmation holds until the next start', async (t) => {
  const { g, state } = await open(t)
  await confirm(g, NOW)
  await g.restart()
  assert.equal(await state(), 'trusted')
})

for (const [name, setMs, state] of [
  ['set by a minute', MINUTE_MS, 'confirmed'],
  ['set ahead by more', MINUTE_MS + 1, 'trusted'],
  ['set back by more', -MINUTE_MS - 1, 'trusted'],
  ['set back by an hour', -HOUR_MS, 'untrusted'],
] as const) {
  test(`a confirmed clock that is ${name} is ${state}; setting it back does not confirm it`, async (t) => {
    const course = await open(t)
    await confirm(course.g, NOW)
    course.clock.set(NOW + setMs)
    assert.equal(await course.state(), state)
    course.clock.set(NOW)
    assert.equal(await course.state(), state === 'confirmed' ? 'confirmed' : 'trusted')
    for (const hardwareId of ['a', 'b']) await course.send(hardwareId, at(0))
    course.clock.advance(STEADY_MS)
    assert.equal(await course.state(), 'confirmed')
  })
}

test('only an admin or the system confirms an untrusted clock, by the time the gateway shows', async (t) => {
  const course = await open(t)
  const { g, clock, send, hardware, state } = course
  clock.set(NOW - HOUR_MS)
  hardware.atMs = NOW
  for (const hardwareId of ['a', 'b']) await send(hardwareId, at(0))
  assert.equal(await state(), 'untrusted')
  const refused = await confirm(g, NOW - HOUR_MS / 2)
  assert.deepEqual([refused.status, refused.body.code], [409, 'clock_differs'])
  assert.match(refused.body.detail, new RegExp(toIso(NOW)))
  assert.equal((await confirm(g, NOW)).status, 200)
  assert.equal(await state(), 'confirmed')
  assert.equal('clock_doubt' in (await g.request('GET', '/health')).body, false)
  assert.equal(Date.parse((await g.request('GET', '/health')).body.timestamp), NOW)
})
