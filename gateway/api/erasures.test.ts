import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ok, pluck, publish, scene } from '#testing/scene.ts'

const { g, clock, fresh, onlyFor } = scene({ inScope: [] })
const NOTHING = { lock_events: 0, commands: 0, metadata: 0, other: 0 }
const erase = (body: unknown) => g.post('/erasures', body)

/** True if a text occurs in a file of the database. */
function isOnDisk(text: string): boolean {
  const files = ['cartbarn.db', 'cartbarn.db-wal']
  return files.some((file) => readFileSync(join(g.config.dataDir, file)).includes(text))
}

const lockEvents = async (hardwareId: string) =>
  (await g.get(`/lock-events?hardware_id=${hardwareId}&limit=1000`)).body.events

/** Creates a cart whose lock events and commands contain `name` and `code` among others. */
async function cartWith(name: string, code: string, others = 3) {
  const id = fresh('cart-')
  const cart = await g.device(id)
  await cart.subscribeAsync(`dev/${id}/cmd`, { qos: 1 })
  const metadata = { name, guests: [{ name: ` ${name.toUpperCase()} ` }, 'Somebody Else'], note: `for ${name}` }
  const asked = await g.post(`/devices/${id}/commands`, { command: 'unlock', metadata })
  const commandId = asked.body.command_id
  const events: object[] = [{ eid: 'r', event: 'unlock', source: 'remote', cmd: commandId }]
  for (let i = 0; i < others; i++) {
    // with and without an id assigned by the device
    events.push({ ts: clock.nowMs() - i, event: 'unlock', source: 'rfid', code })
    events.push({ eid: `o${i}`, ts: clock.nowMs() - i, event: 'lock', source: 'rfid', code: `9${i}${code}` })
  }
  for (let i = 0; i < events.length; i += 100) await publish(cart, `dev/${id}/evt`, events.slice(i, i + 100))
  await publish(cart, `dev/${id}/ack`, { id: commandId, st: 'completed' })
  return { id, commandId, cart }
}

onlyFor('admins', ['POST', '/erasures', { person: 'Jane' }])

for (const body of [{}, { person: 'A', code: 'B' }, { person: '' }, { person: ' ' }, { code: '' }, { name: 'A' }])
  test(`${JSON.stringify(body)} is rejected`, async () => assert.equal((await erase(body)).status, 400))

test('a person is erased from metadata of events and commands, as a whole value in any case', async () => {
  const { id, commandId } = await cartWith('Jane Doe', 'AAAA1111')
  assert.deepEqual((await erase({ person: 'jane doe' })).body, { lock_events: 1, commands: 1, metadata: 4, other: 0 })
  const metadata = { name: '', guests: [{ name: '' }, 'Somebody Else'], note: 'for Jane Doe' }
  const event = (await lockEvents(id)).find(({ source }: { source: string }) => source === 'remote')
  assert.deepEqual(event.metadata, metadata)
  assert.deepEqual((await g.get(`/commands/${commandId}`)).body.metadata, metadata)
  assert.deepEqual((await erase({ person: 'Jane Doe' })).body, NOTHING)
})

test('a code is erased from lock events, others stay, and the erased event is not stored twice', async () => {
  const { id, cart } = await cartWith('Bob', 'BBBB2222')
  const eventIds = (await lockEvents(id)).map(({ event_id }: { event_id: string }) => event_id)
  assert.deepEqual((await erase({ code: 'BBBB2222' })).body, { ...NOTHING, lock_events: 3 })
  const left = await lockEvents(id)
  assert.deepEqual(pluck(left, 'event_id'), eventIds)
  const codes = left.flatMap(({ code }: { code?: string }) => code ?? [])
  assert.deepEqual(codes.sort(), ['90BBBB2222', '91BBBB2222', '92BBBB2222'])
  assert.deepEqual((await erase({ code: 'bbbb2222' })).body, NOTHING)
  // repeated, as by a cart that received no acknowledgement
  assert.equal((await erase({ code: '90BBBB2222' })).body.lock_events, 1)
  const again = { eid: 'o0', ts: clock.nowMs(), event: 'lock', source: 'rfid', code: '90BBBB2222' }
  await publish(cart, `dev/${id}/evt`, again)
  assert.deepEqual(pluck(await lockEvents(id), 'event_id'), eventIds)
})

test('erased data is in no file of the database, over thousands of events', async () => {
  const [name, code] = ['Zaphod Beeblebrox', 'C0DE-T0-ERASE']
  for (let i = 0; i < 4; i++) await cartWith(name, code, 400)
  assert.ok(isOnDisk(name) && isOnDisk(code))
  assert.equal((await erase({ person: name })).body.lock_events, 4)
  // the note "for …" is not a whole value, and stays
  assert.equal((await erase({ person: `for ${name}` })).body.lock_events, 4)
  assert.equal((await erase({ code })).body.lock_events, 1_600)
  for (let i = 0; i < 400; i++) await erase({ code: `9${i}${code}` })
  assert.deepEqual([isOnDisk(name), isOnDisk(name.toUpperCase()), isOnDisk(code)], [false, false, false])
})

test('an interrupted erasure is finished by repeating the request', async () => {
  // several batches, as one may report a thousand events at a time
  for (let i = 0; i < 2; i++) await cartWith('Kim', 'D0D0D0', 400)
  const { id } = await cartWith('Kim', 'D0D0D0', 400)
  const asked = erase({ code: 'D0D0D0' })
  await g.restart()
  const first = await asked.catch(() => ({ status: 0, body: {} }))
  assert.ok([0, 200, 503].includes(first.status), `${first.status}`)
  await ok(erase({ code: 'D0D0D0' }))
  const events = await lockEvents(id)
  assert.ok(events.every(({ code }: { code?: string }) => code !== 'D0D0D0'))
})

test('a name is erased from the audit log, both as the subject and as the user of an entry', async () => {
  const name = 'Ford Prefect'
  const tablet = await g.createUser({ name, role: 'staff', allowed_hardware_ids: ['*'] })
  await g.patch(`/users/${tablet.userId}`, { name: ' FORD PREFECT ' })
  await g.patch(`/users/${tablet.userId}`, { name: `${name}, once` })
  const entries = async () =>
    (await g.get('/audit-log?limit=1000')).body.entries.filter(
      ({ target }: { target: string }) => target === tablet.userId,
    )
  const before = await entries()
  // created with the name, changed from and to it, and changed from it again
  assert.deepEqual((await erase({ person: 'ford prefect' })).body, { ...NOTHING, other: 4 })
  const after = await entries()
  assert.deepEqual(
    after.map((entry: { before: { name?: string } | null; after: { name: string } }) => [
      entry.before?.name,
      entry.after.name,
    ]),
    [
      ['', `${name}, once`],
      ['', ''],
      [undefined, ''],
    ],
  )
  // their other content stays
  assert.deepEqual(
    after.map(({ before: _, after: __, ...entry }: Record<string, unknown>) => entry),
    before.map(({ before: _, after: __, ...entry }: Record<string, unknown>) => entry),
  )
  assert.deepEqual((await erase({ person: name })).body, NOTHING)
})

test('the audit entry of an erasure does not name its subject', async () => {
  await erase({ code: 'SECRET-CODE-1' })
  const { entries } = (await g.get('/audit-log?action=erasure.created&limit=1')).body
  assert.deepEqual([entries[0].target, entries[0].before, entries[0].after], ['code', null, null])
  assert.ok(!isOnDisk('SECRET-CODE-1'))
})
