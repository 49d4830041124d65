import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { CommandFolder, type Outcome } from '#scripts/testing/command-folder.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { toIso } from '#shared/time.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { runImport } from '../import/run-import.ts'
import { runExport } from './run-export.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
/** More than a page, with gaps that GPX turns into segments. */
const COUNT = 700
const folder = new CommandFolder()
let g: TestGateway

before(async () => {
  g = await startGateway({}, { clock: new FakeClock(NOON_MS) })
  for (const id of ['cart-1', 'cart-2', 'silent']) await g.register(id)
  const timestamp = (i: number) => toIso(NOON_MS - i * (i % 100 === 0 ? 60_000 : 1001))
  const gps = Array.from({ length: COUNT }, (_, i) => ({
    timestamp: timestamp(i),
    lat: i === 0 ? 1e-7 : -33.9 + i / 1e7,
    long: i === 0 ? -3e-7 : 179.9999999 - i / 1e7,
    ...(i % 3 === 0 ? {} : { speed: (i * 285) / 1000 }),
  }))
  const battery = gps.map((record, i) => ({ timestamp: record.timestamp, battery_voltage: i / 100 }))
  const { body } = await g.request('POST', '/devices/cart-1/telemetry/import', { body: { gps, battery } })
  assert.deepEqual(body.stored, { gps: COUNT, battery: COUNT })
})
after(async () => {
  await g.stop()
  folder.remove()
})

function exportTo(...args: string[]): Promise<Outcome> {
  return folder.run(runExport, ['--url', g.http, ...args])
}

interface RecordJson {
  timestamp: string
  lat?: number
  long?: number
  speed?: number
  battery_voltage?: number
}

/** Returns a device's records without its id. */
async function recordsOf(id: string, stream = 'gps'): Promise<RecordJson[]> {
  const { body } = await g.request('GET', `/devices/${id}/${stream}?limit=10000&order=asc`)
  return body.map(({ _id, device_id, hardware_id, ...rest }: RecordJson & Record<string, unknown>) => rest)
}

for (const [stream, format] of [
  ['gps', 'gpx'],
  ['gps', 'csv'],
  ['gps', 'ndjson'],
  ['gps', 'geojson'],
  ['battery', 'csv'],
  ['battery', 'ndjson'],
] as const) {
  test(`${stream} as ${format}, exported and imported into another device, has the same records`, async () => {
    const other = `${stream}-${format}`
    await g.register(other)
    const name = `track-${stream}.${format}`
    const exported = await exportTo('--device', 'cart-1', '--stream', stream, '--out', name)
    assert.deepEqual([exported.code, exported.out], [0, ''], exported.err)
    assert.match(exported.err, new RegExp(`${name}: ${COUNT} records, 0\\.\\d MB of ${stream} of cart-1\n$`))
    const argv = ['--url', g.http, '--device', other, name]
    const imported = await folder.run(runImport, argv)
    assert.deepEqual([imported.code, imported.err], [0, ''])
    assert.doesNotMatch(imported.out, /dropped/)
    assert.deepEqual(await recordsOf(other, stream), await recordsOf('cart-1', stream))
  })
}

test('a device without records yields files that can be imported as well', async () => {
  for (const format of ['gpx', 'csv', 'ndjson', 'geojson']) {
    const name = `silent.${format}`
    assert.equal((await exportTo('--device', 'silent', '--out', name)).code, 0)
    const { code, out } = await folder.run(runImport, ['--url', g.http, '--device', 'cart-2', name])
    assert.equal(code, 0)
    assert.match(out, /read {11}0 records/)
  }
})

test('from and to are included', async () => {
  const records = await recordsOf('cart-1')
  const [from, to] = [records[5]?.timestamp ?? '', records[9]?.timestamp ?? '']
  const { code, out } = await exportTo(
    '--device',
    'cart-1',
    '--from',
    from,
    '--to',
    to,
    '--format',
    'ndjson',
    '--out',
    '-',
  )
  assert.equal(code, 0)
  const lines = out.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).timestamp),
    records.slice(5, 10).map(({ timestamp }) => timestamp),
  )
})

test('an existing file is overwritten only on request', async () => {
  writeFileSync(folder.file('mine.csv'), 'mine')
  const refused = await exportTo('--device', 'cart-1', '--out', 'mine.csv')
  assert.equal(refused.code, 1)
  assert.match(refused.err, /mine.csv exists: give --force/)
  assert.equal(readFileSync(folder.file('mine.csv'), 'utf8'), 'mine')
  const forced = await exportTo('--device', 'cart-1', '--out', 'mine.csv', '--force')
  assert.equal(forced.code, 0)
  assert.equal(readFileSync(folder.file('mine.csv'), 'utf8').split('\r\n').length, COUNT + 2)
  assert.ok(!existsSync(folder.file('mine.csv.part')))
})

test('all devices go into a folder, a file each', async () => {
  const { code, err } = await exportTo('--all', '--format', 'ndjson', '--stream', 'battery', '--out', 'fleet/today')
  assert.equal(code, 0, err)
  const names = readdirSync(folder.file('fleet/today'))
  const { devices } = (await g.request('GET', '/devices')).body
  assert.deepEqual(
    names.sort(),
    devices.map(({ hardware_id }: { hardware_id: string }) => `battery-${hardware_id}.ndjson`).sort(),
  )
  const text = readFileSync(folder.file('fleet/today/battery-cart-1.ndjson'), 'utf8')
  assert.equal(text.trim().split('\n').length, COUNT)
  const again = await exportTo('--all', '--format', 'ndjson', '--stream', 'battery', '--out', 'fleet/today')
  assert.equal(again.code, 1)
  assert.match(again.err, /exists: give --force/)
})

test('an error in the command, key, device or target is one line, and leaves no file', async () => {
  mkdirSync(folder.file('folder.csv'))
  writeFileSync(folder.file('plain'), '')
  const user = await g.createUser({ allowed_hardware_ids: ['cart-2'] })
  const before = readdirSync(folder.path)
  const one = ['--device', 'cart-1', '--out', 'new.csv']
  for (const [argv, code, message, key] of [
    [one, 1, /401 invalid_api_key/, 'flt_this_key_opens_nothing_at_all'],
    [one, 1, /403 device_forbidden/, user.key],
    [['--device', 'nowhere', '--out', 'new.csv'], 1, /404 device_not_found/],
    [['--device', 'cart-1', '--out', 'no/such/folder.csv'], 1, /cannot be written: ENOENT/],
    [['--device', 'cart-1', '--out', 'plain/new.csv'], 1, /cannot be written: ENOTDIR/],
    [['--device', 'cart-1', '--out', 'folder.csv'], 1, /exists/],
    [['--device', 'cart-1', '--out', 'folder.csv', '--force'], 1, /cannot be written: EISDIR/],
    [['--all', '--format', 'csv', '--out', 'plain'], 1, /cannot be made a folder: EEXIST/],
    [['--device', 'cart-1', '--out', 'new'], 2, /--format is needed/],
    [['--device', 'cart-1', '--out', 'new.csv', '--format', 'xlsx'], 2, /--format .* choices are gpx/],
    [['--device', 'cart-1', '--out', 'new.gpx', '--stream', 'battery'], 2, /--format of battery must be csv or ndjson/],
    [['--device', 'cart-1', '--out', 'new.csv', '--from', 'today'], 2, /--from .* must be a time/],
    [['--device', 'cart-1', '--out', 'new.csv', '--from', '2026-05-02', '--to', '2026-05-01'], 2, /--from must not/],
    [['--device', 'cart-1'], 2, /required option '--out <file>'/],
    [['--out', 'new.csv'], 2, /either --device ID or --all/],
    [['--all', '--format', 'csv', '--out', '-'], 2, /must be a folder/],
    [[...one, 'extra'], 2, /too many arguments/],
  ] as const) {
    const outcome = await folder.run(runExport, ['--url', g.http, ...argv], key === undefined ? {} : { key })
    assert.equal(outcome.code, code, outcome.err)
    assert.match(outcome.err, message)
    assert.match(outcome.err, /^export: .*\n$/)
  }
  assert.deepEqual(readdirSync(folder.path), before)
})

test('an interrupted download leaves no file that seems complete', async () => {
  const half = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' })
    response.write('hardware_id,timestamp,lat,long,speed\r\n', () => request.socket.destroy())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => half.once('listening', resolve))
  const address = half.address()
  assert.ok(typeof address === 'object' && address !== null)
  const argv = ['--url', `http://127.0.0.1:${address.port}`, '--device', 'cart-1', '--out', 'half.csv']
  const { code, err } = await folder.run(runExport, argv)
  await new Promise((resolve) => half.close(resolve))
  assert.equal(code, 1)
  assert.match(err, /the download broke off: run it again/)
  assert.deepEqual(
    readdirSync(folder.path).filter((name) => name.startsWith('half')),
    [],
  )
})

test('progress is a bar on a terminal, one line elsewhere, and hidden when quiet', async () => {
  const argv = ['--url', g.http, '--device', 'cart-1', '--out', 'bar.csv', '--force']
  assert.match((await folder.run(runExport, argv, { isTerminal: true })).err, /█.* % cart-1: .*records/)
  assert.match((await folder.run(runExport, argv)).err, /^\S+bar.csv: 700 records, 0.1 MB of gps of cart-1\n$/)
  assert.equal((await folder.run(runExport, [...argv, '--quiet'], { isTerminal: true })).err, '')
  assert.equal((await folder.run(runExport, ['--help'])).code, 0)
})
