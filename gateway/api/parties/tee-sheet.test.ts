import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const { g, clock, fresh } = scene({
  overrides: { isTimeSynchronized: () => true },
  nowMs: Date.UTC(2026, 4, 1, 10),
})

let day = 0
/** Local day that no other test uses. */
let date = ''
beforeEach(async () => {
  await ok(g.patch('/site', { time_zone: 'Europe/Berlin' }))
  date = new Date(Date.UTC(2026, 5, 1) + day++ * DAY_MS).toISOString().slice(0, 10)
})

const CSV = { 'content-type': 'text/csv' }
const send = (body: string | Uint8Array | object, query = '') =>
  g.post(`/parties/import?date=${date}${query}`, body, {
    headers: typeof body === 'string' || body instanceof Uint8Array ? CSV : {},
  })

async function imported(body: string | Uint8Array | object, query = '') {
  const { created, updated, unchanged, deleted } = await ok(send(body, query))
  return [created, updated, unchanged, deleted]
}

const listed = async () => (await ok(g.get(`/parties?date=${date}&limit=1000`))).parties

test('a sheet books its lines, and the same sheet again changes nothing', async () => {
  const file =
    'tee_time;players;start_hole;holes;note;external_id\n08:30;Müller| Jones ;1;9;VIP;B1\n08:30;Smith;10;;;\n'
  assert.deepEqual(await imported(file, '&dry_run=true'), [2, 0, 0, 0])
  assert.deepEqual(await listed(), [])
  assert.deepEqual(await imported(file), [2, 0, 0, 0])
  assert.deepEqual(await imported(file), [0, 0, 2, 0])
  const [first, second] = await listed()
  assert.deepEqual(
    [first.players, first.tee_time, first.start_hole, first.holes, first.note, first.external_id, first.source],
    [['Müller', 'Jones'], `${date}T06:30:00.000Z`, 1, 9, 'VIP', 'B1', 'sheet'],
  )
  assert.deepEqual([second.players, second.start_hole, second.holes, second.state], [['Smith'], 10, 18, 'booked'])
  // found by its id at another time, and by its time and hole
  const later = `tee_time,external_id,start_hole,players\n09:00,B1,1,Müller\n08:30,,10,\n`
  assert.deepEqual(await imported(later), [0, 2, 0, 0])
  assert.deepEqual(pluck(await listed(), 'players', 'note'), [
    [[], null],
    [['Müller'], 'VIP'],
  ])
})

test('replace deletes booked parties of the sheet, and none that is out or was made by hand', async () => {
  await imported('tee_time\n08:00\n08:10\n08:20\n')
  const byHand = await ok(g.post('/parties', { tee_time: `${date}T10:00:00Z` }), 201)
  const [out] = await listed()
  const cart = fresh('c')
  await g.register(cart)
  await ok(g.post(`/parties/${out.party_id}/carts`, { carts: [{ cart }], unlock: false }))
  assert.deepEqual(await imported('tee_time\n08:10\n', '&replace=true'), [0, 0, 1, 1])
  const left = pluck(await listed(), 'party_id')
  assert.deepEqual([left.length, left[0], left[2]], [3, out.party_id, byHand.party.party_id])
})

test('a sheet may be JSON, with times of its own', async () => {
  const parties = [{ tee_time: `${date}T08:00:00+02:00`, players: ['Miller'], holes: 9 }, { tee_time: '9:10' }]
  assert.deepEqual(await imported({ parties }), [2, 0, 0, 0])
  assert.deepEqual(pluck(await listed(), 'tee_time', 'holes'), [
    [`${date}T06:00:00.000Z`, 9],
    [`${date}T07:10:00.000Z`, 18],
  ])
  assert.deepEqual(await imported({ parties: [{ tee_time: '9:10', holes: null, note: 'x' }] }), [0, 1, 0, 0])
})

for (const [what, bytes] of [
  ['tabs and a BOM', '\u{feff}Tee Time\tPlayers\n08:30\tMüller\n'],
  ['windows-1252', Buffer.from('tee_time,players\n08:30,Müller\n', 'latin1')],
] as const)
  test(`a sheet with ${what} is read`, async () => {
    assert.deepEqual(await imported(typeof bytes === 'string' ? bytes : new Uint8Array(bytes)), [1, 0, 0, 0])
    assert.deepEqual((await listed())[0].players, ['Müller'])
  })

test('wrong lines are listed, and nothing is imported', async () => {
  const file = 'tee_time,players,start_hole,holes\n,A,,\n25:00,A,,\n08:00,A,1,\n08:00,B,1,\n08:10,A,x,\n08:20,A,,12\n'
  const { errors } = await fails(send(file), 400, 'invalid_import')
  assert.deepEqual(pluck(errors, 'line', 'code'), [
    [2, 'missing'],
    [3, 'invalid'],
    [5, 'duplicate'],
    [6, 'invalid'],
    [7, 'invalid'],
  ])
  const json = await fails(
    send({ parties: [{ tee_time: '08:00' }, { tee_time: '08:10', pace: 1 }] }),
    400,
    'invalid_import',
  )
  assert.deepEqual(pluck(json.errors, 'line', 'code'), [[2, 'invalid']])
  assert.deepEqual(await listed(), [])
})

test('a thousand wrong lines are all listed, also of a file of a German spreadsheet', async () => {
  const lines = Array.from(
    { length: 1000 },
    (_, i) => `${i % 2 === 0 ? '8 Uhr' : '08:00'};Müller;${i % 2 === 0 ? 1 : 0}`,
  )
  const file = Buffer.from(`tee_time;players;start_hole\r\n${lines.join('\r\n')}\r\n`, 'latin1')
  const { errors, detail } = await fails(send(new Uint8Array(file)), 400, 'invalid_import')
  assert.equal(errors.length, 1000)
  assert.deepEqual([errors[0].line, errors.at(-1).line], [2, 1001])
  assert.match(detail, /^nothing was imported, 1000 errors; line 2: tee_time: must be HH:MM/)
  assert.deepEqual(await listed(), [])
})

test('a sheet is rejected for its columns, its day or its size', async () => {
  await fails(send('players\nA\n'), 400, 'missing_column')
  await fails(send('tee_time,handicap\n08:00,1\n'), 400, 'unknown_column')
  const post = (query: string) => g.post(`/parties/import${query}`, 'tee_time\n08:00\n', { headers: CSV })
  await fails(post(''), 400, 'missing_parameter')
  assert.equal((await post('?date=2026-02-30')).body.errors[0].code, 'invalid_date')
  const lines = (count: number) =>
    `tee_time,external_id\n${Array.from({ length: count }, (_, i) => `08:00,${i}`).join('\n')}\n`
  await fails(send(lines(1001)), 413, 'payload_too_large')
  await imported(lines(1000))
  const { errors } = await fails(send('tee_time\n09:00\n'), 400, 'invalid_import')
  assert.equal(errors[0].code, 'too_many_parties')
  await fails(g.post('/parties', { tee_time: `${date}T10:00:00Z` }), 409, 'too_many_parties')
})

/** Texts of golfers, which no other test uses. */
const PLANTED = ['Plantedplayer', 'Planteddriver', 'Plantednote', 'Plantedremark', 'Plantedid']

/** Returns the planted texts that are in any file of the gateway. */
function foundOnDisk(): string[] {
  const { dataDir } = g.config
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  const contents = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
  return PLANTED.filter((text) => contents.some((content) => content.includes(text)))
}

async function plant() {
  const cart = fresh('c')
  await g.register(cart)
  const [player, driver, note, text, external_id] = PLANTED
  const carts = [{ cart, driver }]
  const body = { players: [player], note, external_id, carts, unlock: false }
  const { party_id } = (await ok(g.post('/parties', body), 201)).party
  await ok(g.post(`/parties/${party_id}/notes`, { text }), 201)
  return { party_id, cart }
}

describe('names', () => {
  test('go at four in the morning after the days for which they are kept', async () => {
    const { party_id, cart } = await plant()
    const isNamed = async () => (await ok(g.get(`/parties/${party_id}`))).players.length > 0
    clock.advance(6 * DAY_MS + 15 * HOUR_MS)
    await g.restart()
    assert.ok(await isNamed())
    assert.deepEqual(foundOnDisk(), PLANTED)
    clock.advance(MINUTE_MS)
    // 10:00 UTC on the first is 02:00 UTC on the eighth, and four hours after midnight in Berlin, seven days later
    clock.advance(Date.UTC(2026, 4, 8, 2) - clock.nowMs())
    await eventually(async () => !(await isNamed()), 'the names are gone')
    const shown = await ok(g.get(`/parties/${party_id}`))
    assert.deepEqual(
      [shown.note, shown.external_id, shown.notes, shown.carts[0].driver, shown.carts[0].cart],
      [null, null, [], null, cart],
    )
    await eventually(() => foundOnDisk().length === 0, 'nothing is left on the disk')
  })

  test('of an erased person go from all parties, and are never in the audit log', async () => {
    const { party_id } = await plant()
    const { entries } = await ok(g.get('/audit-log?limit=1000'))
    const text = JSON.stringify(entries)
    assert.deepEqual(
      PLANTED.slice(0, 4).filter((one) => text.includes(one)),
      [],
    )
    assert.deepEqual(
      entries.find((one: { action: string }) => one.action === 'party.created').after.players,
      '(changed)',
    )
    const erased = await ok(g.post('/erasures', { person: 'plantedplayer' }))
    assert.equal(erased.other, 1)
    await ok(g.post('/erasures', { person: PLANTED[1] }))
    const shown = await ok(g.get(`/parties/${party_id}`))
    assert.deepEqual([shown.players, shown.carts[0].driver], [[], null])
    assert.deepEqual(foundOnDisk(), PLANTED.slice(2))
  })
})
