/** Body that is as large as `bytes` permits. */
export interface LargeBody {
  what: string
  /** Created when it is sent: all of them together would be many megabytes. */
  make: (bytes: number) => string
}

const COMBINED = 'e\u0301\u0302\u0303'
const FEATURE_HEAD = '{"type":"FeatureCollection","features":['

/** A part so many times as there is room for, between a head and a tail. */
function filled(bytes: number, head: string, part: (i: number) => string, tail: string, between = ','): string {
  // all text is ASCII
  let text = head
  for (let i = 0; ; i++) {
    const next = (i === 0 ? '' : between) + part(i)
    if (text.length + next.length + tail.length > bytes) return text + tail
    text += next
  }
}

/** Large values, as JSON. */
const VALUES: Record<string, (bytes: number) => string> = {
  'a long text': (bytes) => JSON.stringify('x'.repeat(bytes - 2)),
  'a text of combined letters': (bytes) =>
    JSON.stringify(COMBINED.repeat(Math.floor(bytes / Buffer.byteLength(COMBINED)) - 1)),
  'a text of spaces': (bytes) => JSON.stringify(' '.repeat(bytes - 2)),
  'a text of escapes': (bytes) => `"${'\\u0000'.repeat(Math.floor(bytes / 6) - 1)}"`,
  digits: (bytes) => '9'.repeat(bytes),
  'many keys': (bytes) => filled(bytes, '{', (i) => `"k${i}":0`, '}'),
  'many indices': (bytes) => filled(bytes, '{', (i) => `"${i}":{}`, '}'),
  'the same key': (bytes) => filled(bytes, '{', () => '"a":0', '}'),
  'empty lists': (bytes) => filled(bytes, '[', () => '[]', ']'),
  'empty objects': (bytes) => filled(bytes, '[', () => '{}', ']'),
  zeros: (bytes) => filled(bytes, '[', () => '0', ']'),
  'different texts': (bytes) => filled(bytes, '[', (i) => `"d${i}"`, ']'),
  'deep lists': (bytes) => '['.repeat(bytes / 2 - 1) + ']'.repeat(bytes / 2 - 1),
}

const corner = (i: number, long: number, lat: number) =>
  `[${(long + i * 1e-5).toFixed(5)},${(lat + (i % 2) * 1e-2).toFixed(5)}]`

/** Strip of teeth without a crossing: each edge is adjacent to every other one, from the south to the north. */
function teeth(corners: number, at: number): string {
  const points = Array.from({ length: corners - 2 }, (_, i) => corner(i, (at % 500) * 0.01, 20 + at * 0.02))
  const south = 20 + at * 0.02 - 0.001
  const [west, east] = [(at % 500) * 0.01, (at % 500) * 0.01 + corners * 1e-5]
  return `[${[...points, `[${east.toFixed(5)},${south.toFixed(5)}]`, `[${west.toFixed(5)},${south.toFixed(5)}]`].join(',')}]`
}

const zone = (ring: string, properties = '{}') =>
  `{"type":"Feature","properties":${properties},"geometry":{"type":"Polygon","coordinates":[${ring}]}}`

const triangle = (i: number) => `[[${i % 90},0],[${i % 90},1],[1,2]]`

/** GeoJSON that is meant to be costly. */
const GEO: Record<string, (bytes: number) => string> = {
  'zones of 200 corners': (bytes) => filled(Math.min(bytes, 99 * 4500), FEATURE_HEAD, (i) => zone(teeth(200, i)), ']}'),
  'most zones': (bytes) =>
    filled(bytes, FEATURE_HEAD, (i) => (i < 500 ? zone(teeth(i < 250 ? 90 : 70, i)) : ' '.repeat(bytes)), ']}'),
  'most zones of groups': (bytes) =>
    filled(bytes, FEATURE_HEAD, (i) => (i < 100 ? zone(teeth(200, i)) : ' '.repeat(bytes)), ']}'),
  'zones of rules': (bytes) =>
    filled(
      bytes,
      FEATURE_HEAD,
      (i) => (i < 500 ? zone(teeth(70, i), i < 90 ? '{}' : '{"type":"hole"}') : ' '.repeat(bytes)),
      ']}',
    ),
  'small features': (bytes) => filled(bytes, FEATURE_HEAD, (i) => zone(triangle(i)), ']}'),
  'features that are none': (bytes) => filled(bytes, FEATURE_HEAD, () => '{}', ']}'),
  'features that are lists': (bytes) => filled(bytes, FEATURE_HEAD, () => '[]', ']}'),
  'one ring': (bytes) => `${FEATURE_HEAD + zone(filled(bytes - 200, '[', (i) => corner(i, 0, 20), ']'))}]}`,
  'many rings': (bytes) => `${FEATURE_HEAD + zone(filled(bytes - 200, '', triangle, ''))}]}`,
  'many properties': (bytes) =>
    FEATURE_HEAD +
    zone(
      triangle(1),
      filled(bytes - 200, '{', (i) => `"p${i}":""`, '}'),
    ) +
    ']}',
  'a bare list of features': (bytes) => filled(bytes, '[', (i) => zone(triangle(i)), ']'),
  geofences: (bytes) => filled(bytes, '{"geofences":[', (i) => zone(triangle(i)), ']}'),
  'zones of one id': (bytes) =>
    filled(
      bytes,
      FEATURE_HEAD,
      (i) => `{"type":"Feature","id":"a","properties":{},"geometry":{"type":"Point","coordinates":[${i % 9},0]}}`,
      ']}',
    ),
}

/** CSV that is meant to be costly. */
const CSV: Record<string, (bytes: number) => string> = {
  commas: (bytes) => ','.repeat(bytes),
  'commas below a header': (bytes) => `hardware_id\n${','.repeat(bytes - 12)}`,
  'rows of commas': (bytes) => `hardware_id\n${',,,\n'.repeat(bytes / 4 - 3)}`,
  rows: (bytes) => filled(bytes, 'hardware_id\n', () => 'a', '', '\n'),
  'different rows': (bytes) => filled(bytes, 'hardware_id,device_type\n', (i) => `d${i},teebox`, '', '\n'),
  'most rows': (bytes) =>
    filled(
      bytes,
      'hardware_id,device_type,name\n',
      (i) => (i < 5000 ? `most${i},teebox,N${i}` : ' '.repeat(bytes)),
      '',
      '\n',
    ),
  'columns of the same name': (bytes) => filled(bytes, '', () => 'name', '\na'),
  columns: (bytes) => filled(bytes, 'hardware_id,', (i) => `c${i}`, '\na'),
  'empty rows': (bytes) => '\n'.repeat(bytes),
  'quotation marks': (bytes) => `hardware_id\n${'"'.repeat(bytes - 12)}`,
  'quoted fields': (bytes) => filled(bytes, 'hardware_id\n', () => '""', ''),
  'an open quotation mark': (bytes) => `hardware_id\n"${'\n'.repeat(bytes - 13)}`,
  spaces: (bytes) => `hardware_id\n${' '.repeat(bytes - 12)}`,
}

/** The strangest bodies for a type of content; of JSON each field of `valid` is made large, one at a time. */
export function* largestBodies(type: string, valid: Readonly<Record<string, unknown>>): Generator<LargeBody> {
  if (type === 'text/csv') yield* bodiesOf(CSV)
  else if (type.endsWith('json')) {
    yield* bodiesOf(VALUES)
    if ('features' in valid) yield* bodiesOf(GEO)
    for (const name of Object.keys(valid)) yield* fieldsOf(valid, name)
  } else
    for (const byte of ['\0', '<', '\x7f', 'P'])
      yield { what: `bytes ${byte.charCodeAt(0)}`, make: (bytes) => byte.repeat(bytes) }
}

function* bodiesOf(shapes: Record<string, (bytes: number) => string>): Generator<LargeBody> {
  for (const [what, make] of Object.entries(shapes)) yield { what, make }
}

function* fieldsOf(valid: Readonly<Record<string, unknown>>, name: string): Generator<LargeBody> {
  const { [name]: sample, ...others } = valid
  const head = `${JSON.stringify(others).slice(0, -1)}${Object.keys(others).length === 0 ? '' : ','}${JSON.stringify(name)}:`
  const around = Buffer.byteLength(head) + 1
  for (const [what, make] of Object.entries(VALUES))
    yield { what: `${name}: ${what}`, make: (bytes) => `${head}${make(bytes - around)}}` }
  if (Array.isArray(sample) && sample.length > 0) {
    const item = JSON.stringify(sample[0])
    yield {
      what: `${name}: as shown, many times`,
      make: (bytes) => filled(bytes, `${head}[`, () => item, ']}'),
    }
  }
}
