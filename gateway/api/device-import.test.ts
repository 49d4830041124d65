import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { REFUSED_AS_NO_ADMIN } from '#testing/callers.ts'
import { fails, ok, pluck, scene } from '#testing/scene.ts'
import type { Answer } from '#testing/start-gateway.ts'

const { g, keys } = scene({ inScope: ['cart-1'] })
let northId: number

before(async () => {
  northId = (await g.post('/groups', { name: 'North' })).body.group_id
  for (const name of ['Twin', 'Twin']) await g.post('/groups', { name })
})

const CSV = { 'content-type': 'text/csv' }

const send = (body: string | Uint8Array, query = ''): Promise<Answer> =>
  g.post(`/devices/import${query}`, body, { headers: CSV })

async function imported(body: string | Uint8Array, query = '') {
  const answer = await send(body, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const { created, updated, unchanged, credentials } = answer.body
  return { counts: [created, updated, unchanged], credentials }
}

/** Returns the invalid lines with their error codes. */
async function wrongIn(body: string): Promise<[line: number, code: string][]> {
  const { errors } = await fails(send(body), 400, 'invalid_import')
  return errors.map(({ line, code, message }: Record<string, string>) => {
    assert.ok(message)
    return [line, code]
  })
}

async function device(id: string) {
  const { hardware_id, device_type, name, cart, group_id } = (await g.get(`/devices/${id}`)).body
  return { hardware_id, device_type, name, cart, group_id }
}

for (const [who, status, code] of REFUSED_AS_NO_ADMIN)
  test(`${who} gets ${status} ${code}`, () =>
    fails(g.post('/devices/import', 'x', { key: keys[who], headers: CSV }), status, code))

test('imported devices can log in with the returned passwords, and the same file changes nothing', async () => {
  const file = 'hardware_id,device_type,name,cart,group\na-1,teebox,Cart 1,1,North\na-2,cartcaddie,,1,\n'
  const { counts, credentials } = await imported(file)
  assert.deepEqual(counts, [2, 0, 0])
  assert.deepEqual(pluck(credentials, 'hardware_id', 'username'), [
    ['a-1', 'a-1'],
    ['a-2', 'a-2'],
  ])
  assert.deepEqual(await device('a-1'), {
    hardware_id: 'a-1',
    device_type: 'teebox',
    name: 'Cart 1',
    cart: '1',
    group_id: northId,
  })
  assert.deepEqual(await device('a-2'), {
    hardware_id: 'a-2',
    device_type: 'cartcaddie',
    name: undefined,
    cart: '1',
    group_id: null,
  })
  const client = await g.connect('a-1', credentials[0].password)
  const configs: string[] = []
  client.on('message', (_topic, payload) => configs.push(payload.toString()))
  await client.subscribeAsync('dev/a-1/cfg', { qos: 1 })
  await eventually(() => configs.length > 0, 'the configuration')
  assert.equal(JSON.parse(configs[0] ?? '').group_id, northId)

  assert.deepEqual(await imported(file), { counts: [0, 0, 2], credentials: [] })
  assert.equal(client.connected, true)
  await g.restart()
  assert.equal((await device('a-2')).cart, '1')
  await g.connect('a-2', credentials[1].password)
})

test('a line changes an existing device, which keeps its password; empty fields change nothing', async () => {
  const password = await g.register('b-1')
  await g.patch('/devices/b-1', { name: 'Old', cart: '11' })
  const { counts, credentials } = await imported('hardware_id,cart,name,group\nb-1,12,,North\n')
  assert.deepEqual([counts, credentials], [[0, 1, 0], []])
  const expected = { hardware_id: 'b-1', device_type: 'teebox', name: 'Old', cart: '12', group_id: northId }
  assert.deepEqual(await device('b-1'), expected)
  const moved = await imported('hardware_id;device_type;group\r\nb-1;cartcaddie;\r\n')
  assert.deepEqual(moved.counts, [0, 1, 0])
  assert.deepEqual(await device('b-1'), { ...expected, device_type: 'cartcaddie' })
  await g.connect('b-1', password)
})

test('the kind of a cart is imported with its devices, in a column kind', async () => {
  const kindOf = async (cart: string) => (await ok(g.get(`/carts/${cart}`))).kind
  const file = 'hardware_id,device_type,cart,kind\nk-1,teebox,K1,Ranger\nk-2,cartcaddie,K1,\nk-3,teebox,,greenkeeping\n'
  assert.deepEqual((await imported(file)).counts, [3, 0, 0])
  assert.deepEqual([await kindOf('K1'), await kindOf('k-3')], ['ranger', 'greenkeeping'])
  assert.deepEqual((await imported(file)).counts, [0, 0, 3])
  const other = 'hardware_id,kind\nk-1,golf_cart\nk-2,golf_cart\nk-3,\n'
  assert.deepEqual((await imported(other, '?dry_run=true')).counts, [0, 2, 1])
  assert.equal(await kindOf('K1'), 'ranger')
  assert.deepEqual((await imported(other)).counts, [0, 2, 1])
  assert.equal(await kindOf('K1'), 'golf_cart')
  const { entries } = await ok(g.get('/audit-log?action=cart.updated&limit=1'))
  const [{ target, before, after }] = entries
  assert.deepEqual([target, before.kind, after], ['K1', 'ranger', null])
  assert.deepEqual(await wrongIn('hardware_id,kind\nk-1,ranger\nk-2,greenkeeping\n'), [[3, 'duplicate']])
  assert.deepEqual(await wrongIn('hardware_id,device_type,kind\nk-1,teebox,tank\n'), [[2, 'invalid']])
  // without another name for it, the column is the device type of earlier files
  assert.deepEqual((await imported('hardware_id,kind\nk-1,cartcaddie\n')).counts, [0, 1, 0])
  assert.equal((await device('k-1')).device_type, 'cartcaddie')
})

test('a dry run returns the same counts and changes nothing', async () => {
  await g.register('c-1')
  const file = 'hardware_id,device_type,name\nc-1,teebox,Renamed\nc-2,teebox,\n'
  assert.deepEqual(await imported(file, '?dry_run=true'), { counts: [1, 1, 0], credentials: [] })
  assert.equal((await device('c-1')).name, undefined)
  assert.equal((await g.get('/devices/c-2')).status, 404)
  const wrong = await send('hardware_id,device_type\nc-3,tractor\n', '?dry_run=true')
  assert.deepEqual([wrong.status, wrong.body.errors[0].code], [400, 'unknown_device_type'])
  assert.deepEqual((await imported(file, '?dry_run=false')).counts, [1, 1, 0])
  assert.equal((await send(file, '?dry_run=yes')).status, 400)
})

const WINDOWS = Buffer.from('hardware_id;device_type;name\nd-w;teebox;M\xfchle \x80\n', 'latin1')
const WIDE = Buffer.from('\ufeffhardware_id\tdevice_type\tname\r\nd-1\tteebox\tMühle €\r\n', 'utf16le')
for (const [what, file, name] of [
  ['a byte order mark', '\ufeffhardware_id,device_type,name\nd-1,teebox,Mühle €\n', 'Mühle €'],
  ['semicolons and CRLF', 'hardware_id;device_type;name\r\nd-1;teebox;Mühle €\r\n', 'Mühle €'],
  ['tabs and no last line end', 'hardware_id\tdevice_type\tname\nd-1\tteebox\tMühle €', 'Mühle €'],
  ['windows-1252', WINDOWS, 'Mühle €'],
  ['UTF-16, as Excel saves Unicode text', WIDE, 'Mühle €'],
  ['UTF-16 of the other order without a mark', Buffer.from(WIDE.subarray(2)).swap16(), 'Mühle €'],
  ['a line sep=', 'sep=;\r\nHardware-ID;Device type;name\r\nd-1;teebox;Mühle €;;\r\n;;\r\n', 'Mühle €'],
  ['line ends of old Macs', 'hardware_id;device_type;name\rd-1;teebox;Mühle €\r', 'Mühle €'],
  ['line ends within quotes', 'hardware_id,device_type,"group"\n"d-1",teebox,"\r\n"\n', undefined],
  ['quotes', 'name,hardware_id,device_type\n"Cart ""7"", red; two",d-1,teebox\n', 'Cart "7", red; two'],
  ['capitals and blanks', ' Hardware_ID , DEVICE_TYPE,name\n d-1 , teebox ,  Cart \n', 'Cart'],
  ['empty lines and fields', '\nhardware_id,device_type,name,\n,,,\nd-1,teebox,Cart,,\n\n', 'Cart'],
] as const)
  test(`a file with ${what} is accepted`, async () => {
    const { credentials } = await imported(file)
    const [{ hardware_id: id }] = credentials
    assert.equal((await device(id)).name, name)
    await g.remove(`/devices/${id}`)
  })

test('each wrong line is reported by its number, and nothing of the file is imported', async () => {
  await g.register('e-0')
  const { short_id } = (await g.get('/devices/e-0')).body
  const lines = [
    'hardware_id,device_type,name,cart,group',
    'e-1,teebox,,,North',
    ',teebox,No id,,',
    'e-2,,New without a type,,',
    'e-1,teebox,Again,,',
    'e 3,teebox,,,',
    'e-4,tractor,,,',
    'e-5,teebox,,,South',
    'e-6,teebox,,a cart with a long name,',
    'e-7,teebox,,site,',
    `e-8,teebox,${'x'.repeat(201)},,`,
    'e-9,teebox,,,Twin',
    `${short_id},teebox,,,`,
    'e-10,teebox,a "quote" within,,',
    'e-11,teebox,"two\nlines",,East',
    `e-12,teebox,,,${northId}`,
    'e-0,,Renamed,,,more',
  ]
  assert.deepEqual(await wrongIn(lines.join('\n')), [
    [3, 'missing'],
    [4, 'missing'],
    [5, 'duplicate'],
    [6, 'invalid'],
    [7, 'unknown_device_type'],
    [8, 'unknown_group'],
    [9, 'invalid'],
    [10, 'invalid'],
    [11, 'invalid'],
    [12, 'invalid'],
    [13, 'duplicate'],
    [14, 'invalid'],
    [15, 'invalid'],
    [18, 'invalid'],
  ])
  for (const id of ['e-1', 'e-12']) assert.equal((await g.get(`/devices/${id}`)).status, 404)
  assert.equal((await device('e-0')).name, undefined)
})

test('an unclosed quotation mark is reported by its line', async () =>
  assert.deepEqual(await wrongIn('hardware_id,name\ne-0,fine\ne-1,"open\ne-2,x\n'), [[3, 'invalid']]))

const idLines = (count: number): string => Array.from({ length: count }, (_, i) => `g-${i}\n`).join('')

for (const [what, file, status, code] of [
  ['without the column hardware_id', 'device_type,name\nteebox,Cart\n', 400, 'missing_column'],
  ['without anything', '', 400, 'missing_column'],
  ['with a misspelt column', 'hardware_id,device_tpye\nf-1,teebox\n', 400, 'unknown_column'],
  ['with a column twice', 'hardware_id,name,name\nf-1,a,b\n', 400, 'invalid_import'],
  ['of 5,001 devices', `hardware_id\n${idLines(5001)}`, 413, 'payload_too_large'],
  ['of 5 MB', `hardware_id\n${'x'.repeat(5_000_000)}`, 413, 'payload_too_large'],
] as const)
  test(`a file ${what} is ${status} ${code}`, () => fails(send(file), status, code))

for (const type of ['application/json', 'text/plain', 'text/csvx', ''])
  test(`content type "${type}" is rejected`, async () => {
    const headers = { 'content-type': type }
    await fails(g.post('/devices/import', 'hardware_id\n', { headers }), 415, 'unsupported_media_type')
  })

test('a content type with a charset is accepted, and compression is not', async () => {
  const request = (headers: Record<string, string>) => g.post('/devices/import', 'hardware_id\n', { headers })
  await ok(request({ 'content-type': 'Text/CSV; charset=windows-1252' }))
  assert.equal((await request({ ...CSV, 'content-encoding': 'gzip' })).status, 415)
})

test('5,000 devices are registered in one import, each in the audit log without its password', async () => {
  const lines = Array.from({ length: 5000 }, (_, i) => `h-${i},teebox,${i}\n`).join('')
  const file = `hardware_id,device_type,cart\n${lines}`
  const { counts, credentials } = await imported(file)
  assert.deepEqual(counts, [5000, 0, 0])
  assert.equal(new Set(credentials.map(({ password }: Record<string, string>) => password)).size, 5000)
  const { entries } = (await g.get('/audit-log?action=device.created&limit=1000')).body
  const last = entries.find(({ target }: Record<string, string>) => target === 'h-4999')
  assert.equal(last.after.cart, '4999')
  assert.doesNotMatch(JSON.stringify(entries), new RegExp(credentials[4999].password))
  assert.deepEqual((await imported(file)).counts, [0, 0, 5000])
})

test('loosely written headers and types are accepted, and a workbook is rejected with advice', async () => {
  const file = 'Hardware ID;Device-Type;Cart Number;Gruppe\npeople-1;Teebox;51;North\n'
  assert.deepEqual((await imported(file)).counts, [1, 0, 0])
  const { body } = await g.get('/devices/people-1')
  assert.deepEqual([body.device_type, body.cart, body.group_id], ['teebox', '51', northId])
  const unnamed = await send('hardware_id\npeople-2\n')
  assert.match(unnamed.body.detail, /people-2 is new and needs a device_type, one of: .*teebox/)
  for (const start of [
    [0x50, 0x4b, 3, 4, 20, 0, 6, 0],
    [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1],
  ]) {
    const workbook = await send(new Uint8Array(start))
    assert.deepEqual([workbook.status, workbook.body.code], [400, 'invalid_import'])
    assert.deepEqual(pluck(workbook.body.errors, 'line', 'code'), [[1, 'workbook']])
    assert.match(workbook.body.detail, /Excel workbook: save it as CSV/)
  }
})

for (const [header, type, expected] of [
  ['Device ID,Type,Cart number', 'lock', 'teebox'],
  ['Geräte-ID;Typ;Cart-Nummer', 'Sperre', 'teebox'],
  ['Kennung;Geräteart;Cart-Nr.', 'Bildschirm', 'cartcaddie'],
  ['ID,KIND,Cart', 'Screen (cartcaddie)', 'cartcaddie'],
  ['Gerät;Gerätetyp;Wagen', 'Sperre und Tracker (teebox)', 'teebox'],
] as const)
  test(`a file with the columns ${header} and the type ${type} is accepted`, async () => {
    const row = ['called-1', type, '52'].join(header.includes(';') ? ';' : ',')
    await ok(send(`${header}\n${row}\n`))
    const { body } = await g.get('/devices/called-1')
    assert.deepEqual([body.device_type, body.cart], [expected, '52'])
    await g.remove('/devices/called-1')
  })

test('an error of a line names its column and the text found there', async () => {
  const places = async (file: string) =>
    (await send(file)).body.errors.map(({ code, column, value }: Record<string, string>) => [code, column, value])
  const lines = [
    'hardware_id;device_type;group;cart',
    'a b;teebox',
    ';teebox',
    'p-1;tractor',
    'p-2;teebox;South',
    'p-3',
  ]
  assert.deepEqual(await places(`${lines.join('\n')}\np-3;teebox\np-4;"tee"box\n`), [
    ['invalid', 'hardware_id', 'a b'],
    ['missing', 'hardware_id', undefined],
    ['unknown_device_type', 'device_type', 'tractor'],
    ['unknown_group', 'group', 'South'],
    ['missing', 'device_type', undefined],
    ['duplicate', 'hardware_id', 'p-3'],
    ['invalid', undefined, undefined],
  ])
  assert.deepEqual(await places('name\nx\n'), [['missing_column', 'hardware_id', undefined]])
  assert.deepEqual(await places('ID;colour\nx;red\n'), [['unknown_column', undefined, 'colour']])
})
