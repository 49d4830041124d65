import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import type { CommandJson } from '#shared/wire/commands.ts'
import type { PartyJson } from '#shared/wire/parties/parties.ts'
import { confirmClock } from '#testing/course/barn.ts'
import { Course } from '#testing/course/course.ts'
import { KillableGateway } from '#testing/killable-gateway.ts'
import { Receiver } from '#testing/receiver.ts'
import { startGateway } from '#testing/start-gateway.ts'

const CARTS = ['1', '2', '3', '4', '5', '6']

test('a power cut in the middle of hand-outs leaves each with its unlock, or neither', async (t) => {
  const g = await KillableGateway.start(t)
  for (const cart of CARTS) await g.register(cart)
  const handOuts = CARTS.map((cart) => g.request('POST', '/parties', { body: { carts: [{ cart }] } }))
  const first = await Promise.race(handOuts)
  assert.equal(first.status, 201)
  await g.kill()
  await Promise.allSettled(handOuts)
  await g.start()
  const parties: PartyJson[] = (await g.request('GET', '/parties')).body.parties
  const commands: CommandJson[] = (await g.request('GET', '/commands')).body.commands
  const given = parties.map(({ party_id, state, carts }) => [party_id, carts[0]?.cart, state])
  assert.ok(given.some(([partyId]) => partyId === first.body.party.party_id))
  assert.deepEqual(
    given.toSorted(),
    commands
      .filter(({ command }) => command === 'unlock')
      .map(({ metadata, hardware_id }) => [Object(metadata).party_id, hardware_id, 'out'])
      .toSorted(),
  )
})

test('of two hand-outs of a cart at the same moment one is refused', async (t) => {
  const g = await startGateway()
  t.after(() => g.stop())
  await g.register('17')
  const answers = await Promise.all(
    ['Miller', 'Jones', 'Smith'].map((player) =>
      g.request('POST', '/parties', { body: { players: [player], carts: [{ cart: '17' }] } }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409])
  assert.equal((await g.request('GET', '/parties')).body.parties.length, 1)
  assert.equal((await g.request('GET', '/commands')).body.commands.length, 1)
})

test('names of golfers reach people who are notified, and no program, topic, user or hub', async (t) => {
  const PLANTED = ['PlantedPlayer', 'PlantedDriver', 'PlantedNote', 'PlantedText']
  const [player, driver, note, text] = PLANTED
  const plantedIn = (found: unknown) => PLANTED.filter((name) => JSON.stringify(found).includes(name))
  const clock = new FakeClock()
  const g = await startGateway({}, { clock, isTimeSynchronized: () => true })
  t.after(() => g.stop())
  const [program, people] = [await Receiver.open(t), await Receiver.open(t)]
  await g.request('PATCH', '/site', { body: { pack: { empty_v: 46, full_v: 51, low_v: 48 } } })
  await g.request('POST', '/webhooks', { body: { url: program.url } })
  await g.request('POST', '/notifiers', { body: { channel: 'ntfy', to: people.url } })
  const topics: string[] = []
  const mqtt = await g.program()
  mqtt.on('message', (topic, payload) => topics.push(`${topic} ${payload}`))
  await mqtt.subscribeAsync('#')
  const course = new Course(g, clock)
  await course.group(7)
  const lock = await course.device('lock-17', { cart: '17', groupId: 7 })
  await lock.goTo('barn')
  const made = await g.request('POST', '/parties', {
    body: { players: [player], note, carts: [{ cart: '17', driver }] },
  })
  assert.equal(made.status, 201)
  const { party_id } = made.body.party
  await g.request('POST', `/parties/${party_id}/notes`, { body: { text } })
  clock.advance(6 * MINUTE_MS)
  await lock.goTo('barn', { battery_voltage: 47.5 })
  await program.has(1)
  clock.advance(30_000)
  await people.has(1)
  assert.match(people.received[0]?.text ?? '', /^Cart 17 \(PlantedDriver\): /)
  assert.deepEqual(plantedIn(program.received), [])
  assert.match(topics.join('\n'), /low_battery/)
  assert.deepEqual(plantedIn(topics), [])

  const { key } = await g.createUser({ role: 'user', allowed_hardware_ids: ['*'] })
  for (const path of ['/carts', '/carts/17', '/carts?format=csv', '/rounds/active', '/alerts', '/devices'])
    assert.deepEqual(plantedIn(await g.request('GET', path, { key })), [], path)
  assert.deepEqual(plantedIn((await g.request('GET', '/audit-log?limit=1000')).body), [])

  const database = new Database(`${g.config.dataDir}/cartbarn.db`, { readonly: true })
  t.after(() => database.close())
  assert.deepEqual(plantedIn(database.prepare('SELECT names FROM party').all()), PLANTED)
  // all that the hub is sent of parties and their commands
  assert.deepEqual(plantedIn(database.prepare('SELECT party_id, date, updated_at_ms, body FROM party').all()), [])
  assert.deepEqual(plantedIn(database.prepare('SELECT * FROM command').all()), [])
})

test('without a confirmed clock no cart returns automatically and no name goes; then it happens once', async (t) => {
  const clock = new FakeClock(Date.UTC(2026, 4, 1, 10))
  let isConfirmed = true
  const g = await startGateway({}, { clock, isTimeSynchronized: () => isConfirmed })
  t.after(() => g.stop())
  await g.register('17')
  const body = { players: ['Miller'], carts: [{ cart: '17' }] }
  const { party_id } = (await g.request('POST', '/parties', { body })).body.party
  const party = async (): Promise<PartyJson> => (await g.request('GET', `/parties/${party_id}`)).body
  isConfirmed = false
  await g.restart(() => clock.advance(8 * DAY_MS))
  for (let i = 0; i < 5; i++) clock.advance(1000)
  await g.request('GET', '/carts')
  assert.deepEqual([(await party()).state, (await party()).players], ['out', ['Miller']])
  await confirmClock(g, clock.nowMs())
  await eventually(async () => {
    clock.advance(1000)
    const { state, players } = await party()
    return state === 'over' && players.length === 0
  }, 'the cart is returned and the name is gone')
  assert.equal((await party()).carts[0]?.returned, 'closing')
  const { entries } = (await g.request('GET', '/audit-log?action=party.updated')).body
  assert.equal(entries.length, 1)
})
