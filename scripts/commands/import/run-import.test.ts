import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { CommandFolder, type Outcome } from '#scripts/testing/command-folder.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { toIso } from '#shared/time.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { runImport } from './run-import.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const folder = new CommandFolder()
let g: TestGateway

before(async () => {
  g = await startGateway({}, { clock: new FakeClock(NOON_MS) })
})
after(async () => {
  await g.stop()
  folder.remove()
})

let devices = 0

async function newDevice(): Promise<string> {
  const id = `cart-${++devices}`
  await g.register(id)
  return id
}

function write(name: string, content: string | Uint8Array): string {
  writeFileSync(folder.file(name), content)
  return name
}

function importAs(id: string, ...args: string[]): Promise<Outcome> {
  return folder.run(runImport, ['--url', g.http, '--device', id, ...args])
}

async function recordsOf(id: string): Promise<{ timestamp: string; lat: number; long: number; speed?: number }[]> {
  return (await g.request('GET', `/devices/${id}/gps?limit=10000&order=asc`)).body
}

const ROW = '2026-05-01T11:00:00Z,28.41,-81.58,12.4'
const HEADER = 'time,lat,lon,speed'
const gpxOf = (points: string) =>
  `<?xml version="1.0"?>\n<gpx xmlns="http://www.topografix.com/GPX/1/0"><trk><trkseg>${points}</trkseg></trk></gpx>`

for (const [what, name, content] of [
  ['CSV', 'a.csv', `${HEADER}\n${ROW}\n`],
  ['CSV with a byte order mark and CRLF', 'b.csv', `\ufeff${HEADER}\r\n${ROW}\r\n`],
  ['CSV in UTF-16', 'c.csv', Buffer.from(`\ufeff${HEADER}\r\n${ROW}\r\n`, 'utf16le')],
  ['NDJSON', 'd.ndjson', '{"ts":1777633200000,"lat":28.41,"long":-81.58,"speed":12.4}\n'],
  [
    'GPX',
    'e.gpx',
    gpxOf('<trkpt lat="28.41" lon="-81.58"><time>2026-05-01T11:00:00Z</time><speed>3.4444</speed></trkpt>'),
  ],
  [
    'GPX without a zone, which is UTC by definition',
    'f.gpx',
    gpxOf('<trkpt lat="28.41" lon="-81.58"><time>2026-05-01T11:00:00</time><speed>3.4444</speed></trkpt>'),
  ],
  [
    'GeoJSON',
    'g.geojson',
    '{"type":"Point","coordinates":[-81.58,28.41]}'
      .replace(/^/, '{"type":"Feature","properties":{"time":"2026-05-01T13:00:00+02:00","speed":12.4},"geometry":')
      .concat('}'),
  ],
] as const) {
  test(`${what} is read by its name and stored once, however often it is imported`, async () => {
    const id = await newDevice()
    const first = await importAs(id, write(name, content))
    assert.deepEqual([first.code, first.err], [0, ''], first.out)
    assert.match(first.out, /stored {9}1 gps, 0 battery/)
    assert.match(first.out, /2026-05-01T11:00:00.000Z to 2026-05-01T11:00:00.000Z/)
    const [record, ...others] = await recordsOf(id)
    assert.deepEqual([record?.timestamp, record?.lat, record?.long], ['2026-05-01T11:00:00.000Z', 28.41, -81.58])
    assert.deepEqual([record?.speed, others], [12.4, []])
    const second = await importAs(id, name)
    assert.equal(second.code, 0)
    assert.match(second.out, /stored {9}0 gps, 0 battery\n {2}already there {2}1 gps, 0 battery/)
  })
}

test('a lone header and an empty NDJSON file are accepted, other empty files are rejected', async () => {
  const id = await newDevice()
  assert.equal((await importAs(id, write('h.csv', `${HEADER}\n`))).code, 0)
  assert.equal((await importAs(id, write('h.ndjson', ''))).code, 0)
  assert.equal((await importAs(id, write('h.gpx', gpxOf('')))).code, 0)
  for (const name of ['e.csv', 'e.gpx', 'e.geojson']) {
    const { code, err } = await importAs(id, write(name, ''))
    assert.equal(code, 1)
    assert.match(err, /^import: the file is empty/)
  }
})

test('unusable records are reported by reason and line, and the rest is stored in any order', async () => {
  const id = await newDevice()
  const rows = [
    '2026-05-01T11:00:03Z,1,2,3',
    '2026-05-01T13:00:01+02:00,1,2,3',
    '2026-05-01T11:00:02,1,2,3',
    '2016-12-31T23:60:00Z,1,2,3',
    '1996-05-01T11:00:00Z,1,2,3',
    '1777633200,1,2,fast',
    'x,1,2,3',
    'x,1,2,3',
    'x,1,2,3',
    'x,1,2,3',
    '2026-05-01T11:00:04Z,91,2,3',
    '2026-05-01T11:00:05Z,1,2',
  ]
  const { code, out } = await importAs(id, write('mixed.csv', `${HEADER}\n${rows.join('\n')}\n`))
  assert.equal(code, 0)
  assert.deepEqual(
    (await recordsOf(id)).map(({ timestamp }) => timestamp),
    ['2026-05-01T11:00:00.000Z', '2026-05-01T11:00:01.000Z', '2026-05-01T11:00:03.000Z'],
  )
  const lines = out.split('\n').map((line) => line.trim())
  for (const expected of [
    'read           12 records, 1996-05-01T11:00:00.000Z to 2026-05-01T11:00:04.000Z',
    'stored         3 gps, 0 battery',
    'dropped        1 time_without_zone: line 4 ("2026-05-01T11:00:02") (give --utc if they are UTC)',
    'dropped        5 invalid_time: line 5 ("2016-12-31T23:60:00Z"), 8, 9 …',
    'dropped        1 invalid_speed: line 7 ("fast") (stored without it)',
    'dropped        1 wrong_number_of_fields: line 13',
    'dropped        1 implausible_time, by the gateway (before 2020, or in the future)',
    'dropped        1 invalid_position, by the gateway',
  ]) {
    assert.ok(lines.includes(expected), `${expected} is not in\n${out}`)
  }
})

test('a file without any usable record is a failure', async () => {
  const id = await newDevice()
  const name = write('local.csv', `${HEADER}\n${ROW.replace('Z', '')}\n`)
  const { code, out } = await importAs(id, name)
  assert.equal(code, 1)
  assert.match(out, /1 time_without_zone: line 2/)
  assert.equal((await importAs(id, '--utc', name)).code, 0)
  assert.equal((await recordsOf(id)).length, 1)
})

test('the encoding of an XML file is used unless --encoding is given; an unknown one is reported', async () => {
  const id = await newDevice()
  const gpxIn = (encoding: string) =>
    gpxOf('<trkpt lat="1" lon="2"><name>Höhe</name><time>2026-05-01T11:00:00Z</time></trkpt>').replace(
      /^(<\?xml[^>]*\?>)?/,
      `<?xml version="1.0" encoding="${encoding}"?>`,
    )
  const latin1 = write('latin1.gpx', Buffer.from(gpxIn('ISO-8859-1'), 'latin1'))
  assert.equal((await importAs(id, latin1)).code, 0)
  assert.equal((await recordsOf(id)).length, 1)
  const wrong = write('wrong.gpx', Buffer.from(gpxIn('UTF-8'), 'latin1'))
  assert.match((await importAs(id, wrong)).err, /the file is not utf-8.*give --encoding/)
  assert.equal((await importAs(id, '--encoding', 'latin1', wrong)).code, 0)
  const unknown = write('unknown.gpx', gpxIn('EBCDIC-CP-DE'))
  assert.match((await importAs(id, unknown)).err, /declares EBCDIC-CP-DE, which is not supported: give --encoding/)
})

test('a displayed value is short, whatever it is', async () => {
  const id = await newDevice()
  const long = `${'9'.repeat(1000)}`
  const { out } = await importAs(id, write('long.csv', `${HEADER}\n${long}x,1,2,3\n`))
  assert.match(out, /1 invalid_time: line 2 \("9{40}…"\)\n/)
})

for (const content of [
  '\ufefftime;lat;lon;speed;battery_voltage\r\n2026-05-01 11:00;28,41; -81,58 ;12,4;48,2\r\n',
  'sep=;\r\ntime;lat;lon;speed;battery_voltage\r\n2026-05-01 11:00;28,41;-81,58;12,4;48,2;;\r\n;;;;;;\r\n',
  'time,lat,lon,speed\n2026-05-01 11:00,"28,41","-81,58","12,4"\n',
  'time\tlat\tlon\tspeed\n2026-05-01 11:00\t28,41\t-81,58\t12,4\n',
])
  test(`a file of German Excel is read: ${content.slice(0, 12).trim()}`, async () => {
    const id = await newDevice()
    assert.equal((await importAs(id, '--utc', write('excel.csv', content))).code, 0)
    assert.deepEqual(
      (await recordsOf(id)).map(({ lat, long, speed }) => [lat, long, speed]),
      [[28.41, -81.58, 12.4]],
    )
  })

test('the option for the unit of speed overrides the field name, and the default is km/h', async () => {
  for (const [header, unit, speed] of [
    ['speed', undefined, 10],
    ['speed', 'km/h', 10],
    ['speed', 'm/s', 36],
    ['speed', 'mph', 16.093],
    ...(['kn', 'Knots', 'kts', 'knot', 'kt'] as const).map((name) => ['speed', name, 18.52] as const),
    ['Speed (kn)', undefined, 18.52],
    ['speed_mps', undefined, 36],
    ['speed_kn', 'km/h', 10],
  ] as const) {
    const id = await newDevice()
    const name = write('units.csv', `time,lat,lon,${header}\n2026-05-01T11:00:00Z,1,2,10\n`)
    assert.equal((await importAs(id, ...(unit === undefined ? [] : ['--speed-unit', unit]), name)).code, 0)
    assert.equal((await recordsOf(id))[0]?.speed, speed, `${header} ${unit}`)
  }
})

for (const [what, name, content, dropped] of [
  [
    'GPX',
    'mixed.gpx',
    gpxOf(
      `<trkpt lat="1" lon="2"><time>2026-05-01T11:00:00Z</time></trkpt>
       <trkpt lat="9" lon="9"><time>2026-05-01T11:00:01Z</time><fix>none</fix></trkpt>`,
    ).replace('</gpx>', '<wpt lat="48.1" lon="11.5"><time>2026-05-01T03:00:00Z</time></wpt></gpx>'),
    /1 waypoint: point 3 \(no track/,
  ],
  [
    'CSV',
    'fix.csv',
    'fixTime,valid,latitude,longitude\n2026-05-01T11:00:00Z,true,1,2\n2026-05-01T11:00:01Z,FALSE,9,9\n',
    /1 no_fix: line 3 \(the receiver/,
  ],
  [
    'NDJSON',
    'fix.ndjson',
    '{"ts":1777633200000,"lat":1,"long":2,"fix":3}\n{"ts":1777633201000,"lat":9,"long":9,"fix":0}\n',
    /1 no_fix: line 2/,
  ],
  [
    'GeoJSON',
    'fix.geojson',
    JSON.stringify({
      type: 'FeatureCollection',
      features: [
        ['11:00:00', '3d', 1, 2],
        ['11:00:01', 'none', 9, 9],
      ].map(([time, fix, lat, long]) => ({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [long, lat] },
        properties: { time: `2026-05-01T${time}Z`, fix },
      })),
    }),
    /1 no_fix: point 2/,
  ],
] as const) {
  test(`${what}: only real positions are stored, and dropped ones have a reason`, async () => {
    const id = await newDevice()
    const { code, out } = await importAs(id, write(name, content))
    assert.equal(code, 0, out)
    assert.match(out, dropped)
    assert.deepEqual(
      (await recordsOf(id)).map(({ lat, long }) => [lat, long]),
      [[1, 2]],
    )
  })
}

test('UTF-16 without a byte order mark is detected, also in XML read byte by byte', async () => {
  const text = `${HEADER}\r\n${ROW}\r\n`
  const bigEndian = Buffer.from(text, 'utf16le').swap16()
  for (const content of [Buffer.from(text, 'utf16le'), bigEndian, Buffer.from(`\ufeff${text}`, 'utf16le')]) {
    const id = await newDevice()
    assert.equal((await importAs(id, write('wide.csv', content))).code, 0)
    assert.equal((await recordsOf(id))[0]?.speed, 12.4)
    const other = await newDevice()
    const piped = await folder.run(runImport, ['--url', g.http, '--device', other, '--format', 'csv', '-'], {
      stdin: Array.from(content, (byte) => Buffer.of(byte)),
    })
    assert.equal(piped.code, 0, piped.err)
    assert.equal((await recordsOf(other))[0]?.speed, 12.4)
  }
})

test('names, delimiter, encoding and unit of speed can be given', async () => {
  const id = await newDevice()
  const content = Buffer.from('Zeit|Höhe|Breite|Länge|Tempo\n2026-05-01 11:00|5|1|2|10\n', 'latin1')
  const name = write('odd.txt', content)
  const columns = ['time=Zeit', 'lat=Breite', 'lon=Länge', 'speed=Tempo'].flatMap((one) => ['--column', one])
  const options = [...columns, '--delimiter', '|', '--utc', '--speed-unit', 'mph', '--format', 'csv', name]
  const refused = await importAs(id, ...options)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /^import: the file is not utf-8.*give --encoding/)
  const { code } = await importAs(id, '--encoding', 'latin1', ...options)
  assert.equal(code, 0)
  assert.deepEqual(
    (await recordsOf(id)).map(({ lat, long, speed }) => [lat, long, speed]),
    [[1, 2, 16.093]],
  )
})

test('a truncated file is stored up to the cut, and is a failure', async () => {
  const id = await newDevice()
  const at = (i: number) => toIso(NOON_MS - i * 1000)
  const point = (i: number) => `<trkpt lat="1" lon="2"><time>${at(i)}</time></trkpt>`
  const gpx = gpxOf(Array.from({ length: 3000 }, (_, i) => point(i)).join(''))
  const { code, out, err } = await importAs(id, write('cut.gpx', gpx.slice(0, gpx.indexOf(at(2500)))))
  assert.equal(code, 1)
  assert.match(out, /stored {9}2,500 gps/)
  assert.equal(err, 'import: line 2: the file ends in the middle: unclosed tag: time\n')
  assert.equal((await recordsOf(id)).length, 2500)
  const badBytes = Buffer.from(`${HEADER}\n${ROW}\n`.padEnd(100_000, '\n'))
  badBytes[99_999] = 0xff
  const bad = await importAs(id, write('bad.csv', badBytes))
  assert.equal(bad.code, 1)
  assert.match(bad.out, /stored {9}1 gps/)
})

test('hostile XML is rejected before it uses resources', async () => {
  const id = await newDevice()
  const bomb =
    '<!DOCTYPE gpx [<!ENTITY a0 ' +
    `"ha">${Array.from({ length: 20 }, (_, i) => `<!ENTITY a${i + 1} "&a${i};&a${i};">`)}]><gpx>&a20;</gpx>`
  for (const [content, message] of [
    [bomb, /has a DOCTYPE/],
    ['<gpx>'.repeat(1_000_000), /nested too deep/],
    [
      `<gpx>${'&#120;'.repeat(100_000)}<trkpt lat="1" lon="2"><time>${'x'.repeat(5_000_000)}</time></trkpt></gpx>`,
      /does not end/,
    ],
  ] as const) {
    const { code, err } = await importAs(id, write('hostile.gpx', content))
    assert.equal(code, 1)
    assert.match(err.replace('import: ', '').trim(), message)
  }
})

test('records may name their device, and those of unknown devices are counted', async () => {
  const [one, other] = [await newDevice(), await newDevice()]
  const rows = [one, other, 'nowhere', '', one].map((id, i) => `${id},${toIso(NOON_MS - i * 1000)},1,2,`)
  const name = write('fleet.csv', `hardware_id,timestamp,lat,long,battery_voltage\n${rows.join('\n')}\n`)
  const { code, out } = await folder.run(runImport, ['--url', g.http, '--by-hardware-id', name])
  assert.equal(code, 0)
  assert.match(out, /stored {9}3 gps/)
  assert.match(out, /1 no_hardware_id: line 5/)
  assert.match(out, /1 unknown_device nowhere, by the gateway/)
  assert.deepEqual([(await recordsOf(one)).length, (await recordsOf(other)).length], [2, 1])
})

test('a dry run reports and needs no gateway', async () => {
  const name = write('dry.csv', `${HEADER}\n${ROW}\nx,1,2,3\n`)
  const { code, out } = await folder.run(runImport, ['--dry-run', '--device', 'any', name], { key: '' })
  assert.equal(code, 0)
  assert.match(out, /read {11}2 records/)
  assert.match(out, /usable {9}1, .*nothing was sent/)
})

test('standard input needs a format, and is read like a file', async () => {
  const id = await newDevice()
  const stdin = `${HEADER}\n${ROW}\n`
  const argv = ['--url', g.http, '--device', id, '--format', 'csv', '-']
  const { code, out } = await folder.run(runImport, argv, { stdin })
  assert.equal(code, 0)
  assert.match(out, /^standard input -> /)
  assert.equal((await recordsOf(id)).length, 1)
  assert.equal((await folder.run(runImport, ['--device', id, '-'], { stdin })).code, 2)
})

test('an error in the command, key, device or file is one line', async () => {
  const id = await newDevice()
  const name = write('good.csv', `${HEADER}\n${ROW}\n`)
  const user = await g.createUser({ allowed_hardware_ids: [id] })
  const base = ['--url', g.http, '--device', id]
  for (const [argv, code, message, key] of [
    [[...base, name], 1, /401 invalid_api_key/, 'flt_this_key_opens_nothing_at_all'],
    [[...base, name], 1, /403 admin_required/, user.key],
    [[...base, name], 2, /an API key is needed/, ''],
    [['--url', g.http, '--device', 'nowhere', name], 1, /404 device_not_found/, ADMIN_KEY],
    [[...base, 'missing.csv'], 1, /missing.csv cannot be read: ENOENT/, ADMIN_KEY],
    [[...base, '--format', 'csv', '.'], 1, /is a folder/, ADMIN_KEY],
    [[...base, 'what.bin'], 2, /the format of .*what.bin is unknown; give --format/, ADMIN_KEY],
    [base, 2, /missing required argument 'file'/, ADMIN_KEY],
    [['--url', g.http, name], 2, /either --device ID or --by-hardware-id/, ADMIN_KEY],
    [[...base, '--by-hardware-id', name], 2, /'--by-hardware-id' cannot be used with .*'--device <id>'/, ADMIN_KEY],
    [[...base, '--speed-unit', 'furlongs', name], 2, /--speed-unit .* must be km\/h, m\/s, mph or kn/, ADMIN_KEY],
    [[...base, '--column', 'when', name], 2, /--column .* must be FIELD=NAME/, ADMIN_KEY],
    [[...base, '--encoding', 'klingon', name], 2, /--encoding .*'klingon' is invalid/, ADMIN_KEY],
    [[...base, '--retry-for', 'ever', name], 2, /--retry-for .* must be a number/, ADMIN_KEY],
    [['--url', 'gateway', '--device', id, name], 2, /--url .* must be an address/, ADMIN_KEY],
    [[...base, '--nonsense', name], 2, /nonsense/, ADMIN_KEY],
  ] as const) {
    const outcome = await folder.run(runImport, argv, { key })
    assert.equal(outcome.code, code, outcome.err)
    assert.match(outcome.err, message)
    assert.match(outcome.err, /^import: .*\n$/)
  }
  assert.deepEqual(await recordsOf(id), [])
  assert.equal((await folder.run(runImport, ['--help'])).code, 0)
})

test('an unreachable gateway fails the import after the given retry time', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  const argv = ['--url', url, '--device', 'cart-1', '--retry-for', '0.3', write('away.csv', `${HEADER}\n${ROW}\n`)]
  const { code, err } = await folder.run(runImport, argv)
  assert.equal(code, 1)
  assert.match(err, /no answer from the gateway \(ECONNREFUSED\); trying again for up to 0.3 s\n/)
  assert.match(err, /import: the gateway was away for 0.3 s: ECONNREFUSED\n$/)
})

test('a rate limit slows the import without losing data', async () => {
  const slow = await startGateway({ CARTBARN_REQUESTS_PER_SECOND: '1' })
  try {
    await slow.register('cart-1')
    const rows = Array.from({ length: 2000 }, (_, i) => `${toIso(NOON_MS - i * 1000)},1,2,3`)
    const argv = ['--url', slow.http, '--device', 'cart-1', write('many.csv', `${HEADER}\n${rows.join('\n')}\n`)]
    const { code, out, err } = await folder.run(runImport, argv)
    assert.equal(code, 0, out)
    assert.match(out, /stored {9}2,000 gps/)
    assert.match(err, /no answer from the gateway \(429 rate_limited\)/)
  } finally {
    await slow.stop()
  }
})

test('an interrupted import reports that, and continues when run again', async () => {
  const id = await newDevice()
  const rows = Array.from({ length: 30_000 }, (_, i) => `${toIso(NOON_MS - i * 1000)},1,2,3`)
  const name = write('long.csv', `${HEADER}\n${rows.join('\n')}\n`)
  const interruption = new AbortController()
  const argv = ['--url', g.http, '--device', id, name]
  const running = folder.run(runImport, argv, { signal: interruption.signal })
  while ((await recordsOf(id)).length === 0) await new Promise(setImmediate)
  interruption.abort()
  const { code, err } = await running
  assert.equal(code, 130)
  assert.match(err, /interrupted; run it again to continue/)
  const again = await importAs(id, name)
  assert.equal(again.code, 0)
  const { body } = await g.request('GET', `/devices/${id}/telemetry/stats`)
  assert.equal(body.gps, 30_000)
})

test('progress is a bar on a terminal, and hidden when quiet', async () => {
  const id = await newDevice()
  const name = write('bar.csv', `${HEADER}\n${ROW}\n`)
  const argv = ['--url', g.http, '--device', id, name]
  assert.match((await folder.run(runImport, argv, { isTerminal: true })).err, /█.*100 % bar.csv: 1 records/)
  assert.equal((await folder.run(runImport, [...argv, '--quiet'], { isTerminal: true })).err, '')
})
