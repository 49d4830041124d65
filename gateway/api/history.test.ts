import assert from 'node:assert/strict'
import { get } from 'node:http'
import { before, test } from 'node:test'
import { MINUTE_MS, toIso } from '#shared/time.ts'
import { fails, pluck, publishAll, scene } from '#testing/scene.ts'
import { ADMIN_KEY, type Answer } from '#testing/start-gateway.ts'

// The selection of records is tested in telemetry.test.ts; these tests cover the file formats.

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const NAME = `Tom & "Jerry's" <1> ]]> ü\u{1f3cc}`
const GAP_MS = 30 * MINUTE_MS
/** Fills more than two pages, with a gap exactly between the first and the second. */
const COUNT = 2500
const { g } = scene({
  settings: { CARTBARN_CORS_ORIGINS: 'https://dash.example' },
  nowMs: NOON_MS + 24 * 60 * MINUTE_MS,
  devices: ['..-silent'],
})

function sample(i: number) {
  // after 100 the longest interval that does not count as a gap, after 1000 the shortest gap, then another
  const gapsMs = (i > 100 ? GAP_MS : 0) + (i >= 1000 ? GAP_MS + 1 : 0) + (i >= 2001 ? 2 * GAP_MS : 0)
  const position = i === 0 ? { lat: 1e-7, long: -3e-7 } : { lat: 48 + i / 1e7, long: -11.5 - i / 1e7 }
  return {
    ts: NOON_MS + i * 1000 + gapsMs - (i > 100 ? 1000 : 0),
    ...position,
    ...(i % 3 === 0 ? {} : { speed: i / 1000 }),
    ...(i % 2 === 0 ? { battery_voltage: 50 - i / 1000 } : {}),
  }
}

before(async () => {
  const client = await g.device('cart-1')
  const samples = Array.from({ length: COUNT }, (_, i) => sample(i))
  await publishAll(client, 'dev/cart-1/tlm', samples)
  await g.patch('/devices/cart-1', { name: NAME })
})

const ALL = 'from=2026-05-01&to=2026-05-03'

const file = (path: string, accept?: string): Promise<Answer> =>
  g.get(path, { headers: accept === undefined ? {} : { accept } })

interface RecordJson {
  hardware_id: string
  timestamp: string
  lat?: number
  long?: number
  speed?: number
  battery_voltage?: number
}

const records = async (path: string): Promise<RecordJson[]> => (await file(path, 'application/json')).body

/** Parses RFC 4180 by its grammar: fields, commas and CRLF, nothing else. */
function parseCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[]]
  let at = 0
  while (at < text.length) {
    const [field = '', quoted, plain, end] =
      /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y.exec(text.slice(at)) ?? assert.fail(`not CSV at ${at}`)
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    at += field.length
    if (end === '\r\n') rows.push([])
    else if (end === '') assert.fail('the last line does not end')
  }
  assert.deepEqual(rows.pop(), [])
  const [header = [], ...lines] = rows
  return lines.map((line) => {
    assert.equal(line.length, header.length)
    return Object.fromEntries(header.map((name, i) => [name, line[i] ?? '']))
  })
}

type Element = { name: string; attributes: Record<string, string>; children: Element[]; text: string }
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

const decode = (text: string): string =>
  text.replace(
    /&(\w+);|[&<]/g,
    (match, name: string | undefined) => ENTITIES[name ?? ''] ?? assert.fail(`"${match}" must be escaped`),
  )

/** Parses the subset of XML that programs write: elements, attributes, text and the five entities. */
function parseXml(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  const body = xml.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '')
  assert.notEqual(body, xml)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
  assert.doesNotMatch(body, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/)
  for (const [, tag, text = ''] of body.matchAll(/<([^<>]*)>|([^<]+)/g)) {
    const current = open.at(-1) ?? assert.fail('text after the end')
    if (tag === undefined) current.text += decode(text)
    else if (tag.startsWith('/')) assert.equal(open.pop()?.name, tag.slice(1))
    else {
      const [, name = '', rest = ''] = /^([\w:]+)((?:\s+[\w:]+="[^"<]*")*)$/.exec(tag) ?? assert.fail(tag)
      const attributes = Object.fromEntries(
        [...rest.matchAll(/([\w:]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, decode(value)]),
      )
      const element = { name, attributes, children: [], text: '' }
      current.children.push(element)
      open.push(element)
    }
  }
  assert.deepEqual(open, [root])
  assert.equal(root.children.length, 1)
  return root.children[0] ?? assert.fail('empty')
}

const child = (of: Element | undefined, name: string): Element | undefined =>
  of?.children.find((one) => one.name === name)

type Track = { name: string; segments: RecordJson[][] }

function parseGpx(xml: string): Track {
  const gpx = parseXml(xml)
  assert.deepEqual([gpx.name, gpx.attributes.version], ['gpx', '1.1'])
  assert.equal(gpx.attributes.xmlns, 'http://www.topografix.com/GPX/1/1')
  assert.deepEqual(pluck(gpx.children, 'name'), ['trk'])
  const [track] = gpx.children
  const segments = track?.children.filter(({ name }) => name === 'trkseg') ?? []
  return { name: child(track, 'name')?.text ?? '', segments: segments.map(({ children }) => children.map(parsePoint)) }
}

function parsePoint({ name, attributes, children }: Element): RecordJson {
  assert.equal(name, 'trkpt')
  // xsd:decimal has no exponent
  for (const value of [attributes.lat, attributes.lon]) assert.match(value ?? '', /^-?\d+(\.\d+)?$/)
  const extension = children.find((one) => one.name === 'extensions')?.children[0]
  const speed = child(extension, 'gpxtpx:speed')
  return {
    hardware_id: 'cart-1',
    timestamp: children.find((one) => one.name === 'time')?.text ?? '',
    lat: Number(attributes.lat),
    long: Number(attributes.lon),
    ...(speed === undefined ? {} : { speed: Math.round(Number(speed.text) * 3600) / 1000 }),
  }
}

const withoutIds = (all: readonly RecordJson[]): RecordJson[] =>
  all.map((record) => {
    const { _id, device_id, ...rest }: RecordJson & { _id?: string; device_id?: string } = record
    return rest
  })

for (const [query, stream] of [
  [`${ALL}`, 'gps'],
  [`${ALL}&order=asc`, 'gps'],
  ['limit=1', 'gps'],
  ['limit=2001&order=asc', 'gps'],
  [`${ALL}`, 'battery'],
  ['limit=7', 'battery'],
] as const)
  test(`${stream} ?${query}: CSV and NDJSON hold the records of the JSON, in its order`, async () => {
    const path = `/devices/cart-1/${stream}?${query}`
    const expected = await records(path)
    assert.ok(expected.length > 0)

    const csv = await file(path, 'text/csv')
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
    const numbers = stream === 'gps' ? ['lat', 'long', 'speed'] : ['battery_voltage']
    assert.ok(csv.body.startsWith(`_id,device_id,hardware_id,timestamp,${numbers.join(',')}\r\n`))
    const rows = parseCsv(csv.body).map(({ _id, device_id, hardware_id, timestamp, ...values }) => ({
      _id,
      device_id,
      hardware_id,
      timestamp,
      ...Object.fromEntries(
        Object.entries(values)
          .filter(([, text]) => text !== '')
          .map(([key, text]) => [key, Number(text)]),
      ),
    }))
    assert.deepEqual(rows, expected)

    const ndjson = await file(path, 'application/x-ndjson')
    assert.equal(ndjson.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
    const lines = ndjson.body.split('\n')
    assert.equal(lines.pop(), '')
    assert.deepEqual(
      lines.map((line: string) => JSON.parse(line)),
      expected,
    )
  })

test('GPX holds the same points oldest first, in segments between the gaps, also across pages', async () => {
  const expected = withoutIds(await records(`/devices/cart-1/gps?${ALL}&order=asc`))
  for (const order of ['', '&order=desc', '&order=asc']) {
    const { body, headers } = await file(`/devices/cart-1/gps?${ALL}${order}`, 'application/gpx+xml')
    assert.equal(headers.get('content-type'), 'application/gpx+xml; charset=utf-8')
    const { name, segments } = parseGpx(body)
    assert.equal(name, NAME)
    assert.deepEqual(segments.flat(), expected)
    assert.deepEqual(pluck(segments, 'length'), [1000, 1001, 499])
  }
})

for (const [query, first, count] of [
  ['limit=3', COUNT - 3, 3],
  ['limit=3&order=desc', COUNT - 3, 3],
  ['limit=3&order=asc', 0, 3],
  ['', COUNT - 100, 100],
  ['limit=1600', COUNT - 1600, 1600],
  ['limit=10000', 0, COUNT],
] as const)
  test(`GPX ?${query} has ${count} records from number ${first} on, oldest first`, async () => {
    const { body } = await file(`/devices/cart-1/gps?format=gpx&${query}`)
    assert.deepEqual(
      pluck(parseGpx(body).segments.flat(), 'timestamp'),
      Array.from({ length: count }, (_, i) => toIso(sample(first + i).ts)),
    )
  })

for (const query of [ALL, `${ALL}&order=asc`, 'limit=1', 'limit=201&order=asc'])
  test(`GeoJSON ?${query} has the records of the JSON as points, in its order`, async () => {
    const expected = await records(`/devices/cart-1/gps?${query}`)
    const { body, headers } = await file(`/devices/cart-1/gps?${query}`, 'application/geo+json')
    assert.equal(headers.get('content-type'), 'application/geo+json')
    assert.deepEqual(body, {
      type: 'FeatureCollection',
      features: expected.map(({ lat, long, ...rest }) => {
        const { _id, ...properties }: typeof rest & { _id?: string } = rest
        return { type: 'Feature', id: _id, geometry: { type: 'Point', coordinates: [long, lat] }, properties }
      }),
    })
  })

test('a device without records gives files without records', async () => {
  const empty = async (format: string) => (await file(`/devices/..-silent/gps?format=${format}`)).body
  assert.deepEqual(parseCsv(await empty('csv')), [])
  assert.equal(await empty('ndjson'), '')
  assert.deepEqual(await empty('geojson'), { type: 'FeatureCollection', features: [] })
  assert.deepEqual(parseGpx(await empty('gpx')), { name: '..-silent', segments: [[]] })
})

test('files have safe names, JSON has none; every response varies by Accept', async () => {
  for (const [path, accept, name] of [
    ['/devices/cart-1/gps', 'text/csv', 'gps-cart-1.csv'],
    ['/devices/cart-1/gps', 'application/x-ndjson', 'gps-cart-1.ndjson'],
    ['/devices/..-silent/gps', 'application/gpx+xml', 'gps-..-silent.gpx'],
    ['/devices/cart-1/gps', 'application/geo+json', 'gps-cart-1.geojson'],
    ['/devices/cart-1/battery', 'text/csv', 'battery-cart-1.csv'],
    ['/devices/cart-1/battery', 'application/json', null],
  ] as const) {
    const { status, headers } = await file(path, accept)
    assert.equal(status, 200)
    assert.equal(headers.get('content-disposition'), name === null ? null : `attachment; filename="${name}"`)
    assert.match(headers.get('vary') ?? '', /\bAccept\b/)
  }
})

test('a browser of a configured origin may read the name of the file', async () => {
  const headers = { origin: 'https://dash.example', accept: 'text/csv' }
  const answer = await g.get('/devices/cart-1/gps', { headers })
  assert.match(answer.headers.get('access-control-expose-headers') ?? '', /Content-Disposition/)
  assert.deepEqual((answer.headers.get('vary') ?? '').split(/, */).sort(), ['Accept', 'Accept-Encoding', 'Origin'])
})

for (const [path, accept, type] of [
  ['gps', undefined, 'application/json'],
  ['gps', 'text/html', 'application/json'],
  ['gps', 'text/csv;q=0', 'application/json'],
  ['gps', '*/*', 'application/json'],
  ['gps', 'text/*', 'text/csv'],
  ['gps', 'text/csv;q=0.5, application/gpx+xml', 'application/gpx+xml'],
  ['battery', 'application/gpx+xml', 'application/json'],
  ['battery', 'application/gpx+xml, text/csv;q=0.1', 'text/csv'],
  ['gps?format=json', 'text/csv', 'application/json'],
  ['gps?format=csv', 'application/json', 'text/csv'],
  ['gps?format=ndjson', undefined, 'application/x-ndjson'],
  ['gps?format=gpx', 'text/csv', 'application/gpx+xml'],
  ['gps', 'application/geo+json', 'application/geo+json'],
  ['gps?format=geojson', 'text/csv', 'application/geo+json'],
  ['battery', 'application/geo+json', 'application/json'],
  ['battery?format=csv', '*/*', 'text/csv'],
] as const)
  test(`${path} with Accept ${accept} is ${type}`, async () => {
    const { status, headers } = await file(`/devices/cart-1/${path}`, accept)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type')?.split(';')[0], type)
  })

for (const [path, choices] of [
  ['gps?format=xml', 'json, csv, ndjson, gpx, geojson'],
  ['gps?format=', 'json, csv, ndjson, gpx, geojson'],
  ['gps?format=CSV', 'json, csv, ndjson, gpx, geojson'],
  ['battery?format=gpx', 'json, csv, ndjson'],
  ['battery?format=geojson', 'json, csv, ndjson'],
] as const)
  test(`${path} is 400 invalid_format, naming ${choices}`, async () => {
    const body = await fails(file(`/devices/cart-1/${path}`, 'text/csv'), 400, 'invalid_format')
    assert.deepEqual(body.errors, [
      { in: 'query', name: 'format', code: 'invalid_format', detail: `must be one of: ${choices}` },
    ])
  })

test('errors are problem documents, whatever format was requested', async () => {
  const { status, headers, body } = await file('/devices/nowhere/gps', 'text/csv')
  assert.deepEqual([status, body.code], [404, 'device_not_found'])
  assert.equal(headers.get('content-type'), 'application/problem+json')
  assert.equal(headers.get('content-disposition'), null)
})

test('over a socket HEAD has the headers of the file and GET the complete file', async () => {
  const url = `${g.http}/devices/cart-1/gps?${ALL}&format=csv`
  const options = { headers: { 'x-api-key': ADMIN_KEY } }
  const head = await fetch(url, { method: 'HEAD', ...options })
  assert.equal(head.headers.get('content-disposition'), 'attachment; filename="gps-cart-1.csv"')
  assert.equal(await head.text(), '')
  const full = await fetch(url, options)
  assert.equal(parseCsv(await full.text()).length, COUNT)
})

test('clients that leave during a file do no harm', async () => {
  for (const format of ['csv', 'ndjson', 'gpx', 'geojson'])
    await new Promise<void>((resolve) => {
      const url = `${g.http}/devices/cart-1/gps?${ALL}&format=${format}`
      const request = get(url, { headers: { 'x-api-key': ADMIN_KEY } }, (response) => {
        response.on('error', () => undefined)
        response.once('data', () => request.destroy())
      })
      request.on('error', () => undefined)
      request.on('close', () => resolve())
    })
  assert.equal((await records(`/devices/cart-1/gps?${ALL}`)).length, COUNT)
})
