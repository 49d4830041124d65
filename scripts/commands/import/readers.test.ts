import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CsvReader } from './csv-reader.ts'
import type { FieldMapping } from './fields.ts'
import { GeojsonReader } from './geojson-reader.ts'
import { GpxReader } from './gpx-reader.ts'
import { NdjsonReader } from './ndjson-reader.ts'
import type { FoundRecord, TrackReader, TrackSink } from './track-reader.ts'

type Found = Partial<FoundRecord> | string

/** Returns the findings of a reader, however the text is split into chunks; a dropped one is `reason@place`. */
function find(create: (sink: TrackSink) => TrackReader, text: string): Found[] {
  const [whole = [], ...others] = [text.length + 1, 7, 1].map((size) => {
    const found: Found[] = []
    const reader = create({
      record: (record) =>
        found.push(Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))),
      drop: (reason, place) => found.push(`${reason}@${place}`),
    })
    try {
      for (let at = 0; at < text.length; at += size) reader.read(text.slice(at, at + size))
      reader.end()
    } catch (error) {
      found.push(`! ${error instanceof Error ? error.message : error}`)
    }
    return found
  })
  for (const other of others) assert.deepEqual(other, whole)
  return whole
}

const csv = (text: string, mapping: FieldMapping = {}, delimiter?: string) =>
  find((sink) => new CsvReader({ mapping, delimiter }, sink), text)
const gpx = (text: string) => find((sink) => new GpxReader(sink), text)
const ndjson = (text: string, mapping: FieldMapping = {}) => find((sink) => new NdjsonReader(mapping, sink), text)
const geojson = (text: string | object) =>
  find((sink) => new GeojsonReader({}, sink), typeof text === 'string' ? text : JSON.stringify(text))

for (const [what, text, expected] of [
  [
    'our own columns',
    'hardware_id,timestamp,lat,long,speed\r\nc,T,1,2,3\r\nc,T,4,5,\r\n',
    [
      { place: 2, hardwareId: 'c', time: 'T', lat: '1', long: '2', speed: '3' },
      { place: 3, hardwareId: 'c', time: 'T', lat: '4', long: '5', speed: '' },
    ],
  ],
  [
    'other names in any order, and columns of no interest',
    'note,Longitude,LATITUDE,DateTime\na,2,1,T\n',
    [{ place: 2, time: 'T', lat: '1', long: '2' }],
  ],
  ['semicolons', 'time;lat;lng\nT;1;2', [{ place: 2, time: 'T', lat: '1', long: '2' }]],
  ['tabs', 'time\tlat\tlng\nT\t1\t2', [{ place: 2, time: 'T', lat: '1', long: '2' }]],
  [
    'quotes around what has commas, quotes and line ends',
    'note,time,lat,lon\n"a,""b""\nc",T,1,"2"\nx,T,3,4\n',
    [
      { place: 2, time: 'T', lat: '1', long: '2' },
      { place: 4, time: 'T', lat: '3', long: '4' },
    ],
  ],
  [
    'an empty field in quotes, and the last empty',
    'time,lat,lon,speed\n"",1,2,\n',
    [{ place: 2, time: '', lat: '1', long: '2', speed: '' }],
  ],
  ['empty lines', 'time,lat,lon\n\n\r\nT,1,2\n\n', [{ place: 4, time: 'T', lat: '1', long: '2' }]],
  [
    'rows that are too short or too long',
    'time,lat,lon\nT,1\nT,1,2,3\nT,1,2\n',
    ['wrong_number_of_fields@2', 'wrong_number_of_fields@3', { place: 4, time: 'T', lat: '1', long: '2' }],
  ],
  [
    'a quote within a field',
    'time,lat,lon\nT",1,"2\nT,1,2\n',
    ['invalid_quotes@2', { place: 3, time: 'T', lat: '1', long: '2' }],
  ],
  ['text behind a closed quote', 'time,lat,lon\n"T"x,1,2\n', ['invalid_quotes@2']],
  [
    'a quote that never closes',
    'time,lat,lon\nT,1,2\n"T,1,2\n',
    [{ place: 2, time: 'T', lat: '1', long: '2' }, '! the file ends between the quotation marks of line 3'],
  ],
  ['only a header', 'time,lat,lon\n', []],
  ['nothing', '', ['! the file is empty: not even a header is there']],
  ['battery', 'timestamp,battery_voltage\nT,50\n', [{ place: 2, time: 'T', voltage: '50' }]],
] as const) {
  test(`CSV: ${what}`, () => assert.deepEqual(csv(text), expected))
}

test('CSV: a missing header is reported with the expected names', () => {
  const [message] = csv('2026-05-01T12:00:00Z,28.4,-81.5\n')
  assert.match(String(message), /^! the first line must name the columns time, lat and long .*, not 2026-05-01T12/)
})

test('CSV: two columns for one field are rejected unless one is chosen', () => {
  const text = 'time,timestamp,lat,lon\nA,B,1,2\n'
  assert.match(String(csv(text)[0]), /columns time and timestamp both could be time/)
  assert.deepEqual(csv(text, { time: 'timestamp' }), [{ place: 2, time: 'B', lat: '1', long: '2' }])
  assert.deepEqual(csv(text, { time: 'When' }), ['! there is no column "When"'])
})

test('CSV: a given delimiter is used', () => {
  assert.deepEqual(csv('time|lat|lon\nT|1|2', {}, '|'), [{ place: 2, time: 'T', lat: '1', long: '2' }])
})

test('CSV: a line without an end is rejected without buffering it', () => {
  const reader = new CsvReader({ mapping: {}, delimiter: undefined }, { record: () => {}, drop: () => {} })
  reader.read('time,lat,lon\n"')
  assert.throws(() => {
    for (let i = 0; i < 100; i++) reader.read('x'.repeat(65_536))
  }, /line 2 does not end/)
})

test('NDJSON: objects are records, everything else has a reason', () => {
  const text =
    '{"ts":1,"lat":2,"long":3}\r\n\n[1]\nnull\n{"ts":\n{"Timestamp":"T","LON":4,"latitude":5,"speed":null}\n{"t'
  assert.deepEqual(ndjson(text), [
    { place: 1, time: 1, lat: 2, long: 3 },
    'not_an_object@3',
    'not_an_object@4',
    'invalid_json@5',
    { place: 6, time: 'T', lat: 5, long: 4, speed: null },
    'invalid_json@7',
  ])
  assert.deepEqual(ndjson(''), [])
  assert.deepEqual(ndjson('{"when":1,"ts":2}', { time: 'when' }), [{ place: 1, time: 1 }])
})

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'

test('GPX 1.1: track points with a time are read with the extension speed, other points rejected', () => {
  const text = `\ufeff${HEAD}<!-- a > b --><gpx xmlns="http://www.topografix.com/GPX/1/1" xmlns:ns3="x">
    <metadata><time>no</time></metadata>
    <wpt lat="1" lon='2'><ele>5</ele><time>W</time></wpt>
    <rte><rtept lat="3" lon="4"/></rte>
    <trk><name>a &amp; b &#x3c;</name><trkseg>
      <trkpt lon="6" lat = "5" ><time><![CDATA[T<1]]></time><extensions><ns3:TrackPointExtension>
        <ns3:hr>1</ns3:hr><ns3:speed> 2.5 </ns3:speed></ns3:TrackPointExtension><speed>99</speed></extensions></trkpt>
      <trkpt lat="&#55;" lon="8"><!-- </trkpt> --><time>T&lt;2</time></trkpt>
    </trkseg></trk></gpx>`.slice(1)
  assert.deepEqual(gpx(text), [
    'waypoint@1',
    'route_point@2',
    { place: 3, lat: '5', long: '6', time: 'T<1', speed: ' 2.5 ' },
    { place: 4, lat: '7', long: '8', time: 'T<2' },
  ])
})

test('GPX: points inside a waypoint are ignored, in any order, and a track point has its fix type', () => {
  const text = `<gpx><rte><rtept lat="1" lon="2"><time>R</time><extensions><x:rpt lat="7" lon="7"/></extensions></rtept></rte>
    <trk><trkseg><trkpt lat="3" lon="4"><time>T</time><fix> none</fix></trkpt>
      <trkpt lat="3" lon="4"><fix>2d</fix><time>T</time></trkpt></trkseg></trk>
    <x:wpt lat="5" lon="6"><time>W</time><fix>3d</fix></x:wpt><wpt lat="5" lon="6"/></gpx>`
  assert.deepEqual(gpx(text), [
    'route_point@1',
    { place: 2, lat: '3', long: '4', time: 'T', fix: ' none' },
    { place: 3, lat: '3', long: '4', time: 'T', fix: '2d' },
    'waypoint@4',
    'waypoint@5',
  ])
})

test('GPX of OsmAnd: speed is read directly below the extensions, with or without a prefix', () => {
  const point = (speed: string) => `<trkpt lat="1" lon="2"><time>T</time><extensions>${speed}</extensions></trkpt>`
  const points = [
    '<osmand:speed>1.5</osmand:speed><osmand:heading>7</osmand:heading>',
    '<speed>2.5</speed>',
    '<speed>9</speed><x:TrackPointExtension><x:speed>3</x:speed></x:TrackPointExtension>',
    '<other><speed>9</speed></other>',
  ].map(point)
  assert.deepEqual(
    gpx(`<gpx><trk><trkseg>${points.join('')}</trkseg></trk></gpx>`).map((found) =>
      typeof found === 'string' ? found : found.speed,
    ),
    ['1.5', '2.5', '3', undefined],
  )
})

const ROW = { place: 2, time: 'T', lat: '1', long: '2' }
for (const [what, text] of [
  ['rows that end with a delimiter, which the header does not', 'time;lat;lon\nT;1;2;\n'],
  ['rows that are filled up', 'time,lat,lon\r\nT,1,2,,, \r\n'],
  ['a header that ends with delimiters, which rows do not', 'time\tlat\tlon\t\t\nT\t1\t2\n'],
  ['both with a delimiter at the end', 'time,lat,lon,\nT,1,2,\n'],
  ['a column without a name', 'time,lat,lon,\nT,1,2,a\n'],
  ['rows of nothing but delimiters', 'time;lat;lon\nT;1;2\n;;\n;\n"";;\n'],
  ['a header of quoted names with other delimiters in them', '"time";"lat";"lon";"a,b,c,d,e"\nT;1;2;x\n'],
  ['line ends of old Macs', 'time;lat;lon\rT;1;2\r'],
  ['a CR too many', 'time;lat;lon\r\r\nT;1;2\r\r\n'],
] as const) {
  test(`CSV: ${what}`, () => assert.deepEqual(csv(text), [ROW]))
}

for (const [first, delimiter] of [
  ['sep=;', ';'],
  ['\ufeffsep=,', ','],
  ['SEP=|', '|'],
  ['"sep=;"', ';'],
  ['sep=\t', '\t'],
  ['sep=\\t', '\t'],
  ['sep=~', '~'],
] as const) {
  test(`CSV: the line ${JSON.stringify(first)} before the header sets the delimiter`, () => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const text = [first, ['time', 'lat', 'lon'].join(delimiter), ['T', '1', '2'].join(delimiter), '']
      assert.deepEqual(csv(text.join(lineEnd)), [{ ...ROW, place: 3 }])
    }
  })
}

test('CSV: a given delimiter takes precedence over a sep= line', () => {
  assert.deepEqual(csv('sep=;\ntime,lat,lon\nT,1,2\n', {}, ','), [{ ...ROW, place: 3 }])
})

test('CSV: a row with extra values, or too few, is rejected', () => {
  assert.deepEqual(csv('time,lat,lon,\nT,1,2,,3\nT,1,\nT,1\n'), [
    'wrong_number_of_fields@2',
    { place: 3, time: 'T', lat: '1', long: '' },
    'wrong_number_of_fields@4',
  ])
})

for (const header of [
  'FixTime,Latitude (deg),Longitude (deg),Speed (kn)',
  'fix_time,LAT,Lng,speed_knots',
  'Zeitstempel,Breitengrad,Längengrad,Geschwindigkeit [kn]',
  'GPS Time,GPS Latitude,GPS Longitude,GPS Speed kts',
]) {
  test(`CSV and NDJSON: ${header}`, () => {
    const expected = { time: 'T', lat: '1', long: '2', speed: '10', kmhPerSpeedUnit: 1.852 }
    assert.deepEqual(csv(`${header}\nT,1,2,10\n`), [{ place: 2, ...expected }])
    const values = ['T', '1', '2', '10']
    const object = Object.fromEntries(header.split(',').map((name, i) => [name, values[i]]))
    assert.deepEqual(ndjson(JSON.stringify(object)), [{ place: 1, ...expected }])
  })
}

test('CSV and NDJSON: the usual name of a field takes precedence over others', () => {
  assert.deepEqual(csv('fixTime,time,lat,lon,valid\nA,T,1,2,no\n'), [{ ...ROW, fix: 'no' }])
  assert.deepEqual(ndjson('{"fixTime":"A","time":"T","lat":"1","lon":"2"}'), [{ ...ROW, place: 1 }])
  assert.match(String(csv('fixTime,gpstime,lat,lon\n')[0]), /columns fixTime and gpstime both could be time/)
})

test('GPX 1.0: speed is an element, and the file may choose its prefixes', () => {
  const text =
    '<g:gpx xmlns:g="http://www.topografix.com/GPX/1/0"><g:trk><g:trkseg><g:trkpt lat="1" ' +
    'lon="2"><g:time>T</g:time><g:speed>3</g:speed></g:trkpt></g:trkseg></g:trk></g:gpx>'
  assert.deepEqual(gpx(text), [{ place: 1, lat: '1', long: '2', time: 'T', speed: '3' }])
})

const POINT = '<trkpt lat="1" lon="2"><time>T</time></trkpt>'
const FOUND = { place: 1, lat: '1', long: '2', time: 'T' }
for (const [what, text, expected] of [
  ['no point', '<gpx></gpx>', []],
  ['no root', '<gpx/>', []],
  ['nothing', '', ['! the file is empty, which is not XML']],
  ['no element', ' ', ['! line 1: the file ends in the middle: document must contain a root element']],
  ['another document', '<kml></kml>', ['! the file is not GPX but <kml>']],
  ['JSON', '{"type":"FeatureCollection"}', ['! line 1: text data outside of root node']],
  ['text before the root', `x<gpx>${POINT}</gpx>`, ['! line 1: text data outside of root node']],
  ['a second root', `<gpx>${POINT}</gpx><gpx>`, [FOUND, '! line 1: documents may contain only one root']],
  ['an element that is not closed', `<gpx>${POINT}<trk></gpx>`, [FOUND, '! line 1: unexpected close tag']],
  [
    'a point that is not closed is none',
    `<gpx>${POINT}<trkpt lat="1" lon="2"><time>T</time></gpx>`,
    [FOUND, '! line 1: unexpected close tag'],
  ],
  ['a fault right after a point', `<gpx>${POINT}&nbsp;</gpx>`, [FOUND, '! line 1: undefined entity']],
  ['an end tag too many right after a point', `<gpx>${POINT}</trkpt></gpx>`, [FOUND, '! line 1: unexpected close tag']],
  ['a fault on the third line', `<gpx>\r\n${POINT}\n<a b></a></gpx>`, [FOUND, '! line 3: attribute without value']],
  ['an attribute without quotes', `<gpx>${POINT}<trkpt lat=1></gpx>`, [FOUND, '! line 1: unquoted attribute value']],
  [
    'a file that ends within an element',
    `<gpx><trk>${POINT}<trkpt lat="1" lon="2">`,
    [FOUND, '! line 1: the file ends in the middle: unclosed tag: trkpt'],
  ],
  [
    'a file that ends within a tag',
    `<gpx>${POINT}<trkpt lat="1`,
    [FOUND, '! line 1: the file ends in the middle: unclosed tag: gpx'],
  ],
  ['an entity nobody declared', `<gpx>${POINT}<name>&nbsp;</name></gpx>`, [FOUND, '! line 1: undefined entity']],
  [
    'an ampersand alone',
    `<gpx>${POINT}\n<name>a & b</name>\n<name>&lt;</name></gpx>`,
    [FOUND, '! line 2: disallowed character in entity name'],
  ],
  [
    'a character that is none',
    `<gpx>${POINT}<name>&#x110000;</name></gpx>`,
    [FOUND, '! line 1: malformed character entity'],
  ],
  [
    'a DOCTYPE',
    '<!DOCTYPE gpx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><gpx>&b;</gpx>',
    ['! line 1: the file has a DOCTYPE, and entities of its own are not read'],
  ],
  ['nesting that never ends', '<gpx>'.repeat(101), ['! line 1: elements are nested too deep']],
] as const) {
  test(`GPX: ${what}`, () => {
    const found = gpx(text)
    assert.deepEqual(found, expected)
  })
}

for (const [what, begin, more] of [
  ['a value of an attribute', '<gpx a="', ' '],
  ['a name', '<gpx', 'x'],
  ['a list of attributes', '<gpx', ' a="" '],
  ['a run of whitespace in a tag', '<gpx ', ' '],
  ['an end tag', '<gpx></gpx', 'x'],
  ['a comment', '<!--', ' '],
  ['CDATA', '<gpx><![CDATA[', ' '],
  ['text', '<gpx>', ' '],
  ['an entity', '<gpx>&', 'a'],
  ['a processing instruction', '<?x ', ' '],
  ['a DOCTYPE', '<!DOCTYPE ', ' '],
] as const) {
  test(`GPX: ${what} without an end is rejected quickly`, () => {
    const reader = new GpxReader({ record: () => {}, drop: () => {} })
    reader.read(begin)
    assert.throws(() => {
      for (let i = 0; i < 100; i++) reader.read(more.repeat(65_536 / more.length))
    }, /does not end/)
  })
}

const point = (properties: object, coordinates: unknown = [2, 1]) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates },
  properties,
})
const collection = (...features: unknown[]) => ({ type: 'FeatureCollection', features })

test('GeoJSON: points have their values in their properties', () => {
  const text = collection(
    point({ timestamp: 'T', speed: 3, hardware_id: 'c' }),
    point({ time: 5, name: '}"],[\\' }, [2, 1, 100]),
    { type: 'Feature', geometry: null, properties: { time: 'T', battery_voltage: 50 } },
    point({}, 'nonsense'),
  )
  const expected = [
    { place: 1, time: 'T', lat: 1, long: 2, speed: 3, hardwareId: 'c' },
    { place: 3, time: 'T', voltage: 50 },
    { place: 4 },
    { place: 2, time: 5, lat: 1, long: 2 },
  ]
  assert.deepEqual(geojson(text), expected)
  assert.deepEqual(geojson(JSON.stringify(text, null, 2)), expected)
  const { features } = text
  const late = JSON.stringify({ crs: { features: [{}] }, features, bbox: [1, 2], type: 'FeatureCollection' })
  assert.deepEqual(geojson(late), expected)
})

test('GeoJSON: lines have a list of times, in each of the places where programs put it', () => {
  const coordinates = [
    [2, 1],
    [4, 3],
  ]
  const times = ['T1', 'T2']
  const expected = [
    { place: 1, time: 'T1', lat: 1, long: 2 },
    { place: 2, time: 'T2', lat: 3, long: 4 },
  ]
  for (const properties of [{ coordTimes: times }, { times }, { coordinateProperties: { times } }]) {
    const line = { type: 'Feature', geometry: { type: 'LineString', coordinates }, properties }
    assert.deepEqual(geojson(line), expected)
    const nested = JSON.parse(JSON.stringify(properties).replace('["T1","T2"]', '[["T1"],["T2"]]'))
    const geometry = { type: 'MultiLineString', coordinates: coordinates.map((one) => [one]) }
    assert.deepEqual(geojson(collection({ type: 'Feature', geometry, properties: nested })), expected)
  }
  const short = {
    type: 'Feature',
    geometry: { type: 'LineString', coordinates },
    properties: { times: ['T1'], time: 'X', speed: 1 },
  }
  assert.deepEqual(geojson(short), [expected[0], { place: 2, time: null, lat: 3, long: 4 }])
})

test('GeoJSON: points next to a line with times are waypoints, unless they have a device', () => {
  const line = {
    type: 'Feature',
    geometry: { type: 'LineString', coordinates: [[2, 1]] },
    properties: { coordinateProperties: { times: ['T'] }, _gpxType: 'trk' },
  }
  const route = { ...line, properties: { ...line.properties, _gpxType: 'rte' } }
  const shop = point({ name: 'Shop', time: 'W' })
  const mine = point({ time: 'T', hardware_id: 'c' })
  const found = { time: 'T', lat: 1, long: 2 }
  const battery = { type: 'Feature', geometry: null, properties: { time: 'T', battery_voltage: 50 } }
  assert.deepEqual(geojson(collection(shop, mine, route, line, shop, battery)), [
    { place: 2, ...found, hardwareId: 'c' },
    'route_point@3',
    'waypoint@1',
    { place: 4, ...found },
    'waypoint@5',
    { place: 6, time: 'T', voltage: 50 },
  ])
  const untimed = { ...line, properties: {} }
  assert.deepEqual(geojson(collection(shop, untimed)), [
    { place: 2, time: null, lat: 1, long: 2 },
    { place: 1, time: 'W', lat: 1, long: 2 },
  ])
  assert.deepEqual(geojson(JSON.stringify(collection(shop, shop)).replace('},{', '},1,{')), [
    { place: 1, time: 'W', lat: 1, long: 2 },
    '! the file is not GeoJSON',
  ])
})

test('GeoJSON: a feature that is not a track is rejected with a reason', () => {
  const polygon = { type: 'Polygon', coordinates: [] }
  assert.deepEqual(geojson(collection({ type: 'Feature', geometry: polygon, properties: null }, { type: 'feature' })), [
    'no_track@1',
    'invalid_feature@2',
  ])
  assert.deepEqual(geojson({ type: 'Point', coordinates: [2, 1] }), [{ place: 1, lat: 1, long: 2 }])
  assert.deepEqual(geojson('{"type":"FeatureCollection","features":[{"a":}]}'), ['invalid_feature@1'])
})

test('GeoJSON: successive texts are read, with record separators or lines', () => {
  const texts = [1, 2].map((time) => JSON.stringify(point({ time })))
  const expected = [
    { place: 1, time: 1, lat: 1, long: 2 },
    { place: 2, time: 2, lat: 1, long: 2 },
  ]
  assert.deepEqual(geojson(texts.join('\n')), expected)
  assert.deepEqual(geojson(texts.map((text) => `\u001e${text}\n`).join('')), expected)
})

for (const [text, message] of [
  ['', 'the file is empty, which is not GeoJSON'],
  ['[]', 'the file is not GeoJSON'],
  ['{}', 'the file is not GeoJSON'],
  ['{"type":"Topology"}', 'the file is not GeoJSON'],
  ['{"type":"FeatureCollection"}', 'the file is not GeoJSON'],
  ['{"type":"FeatureCollection","features":[1]}', 'the file is not GeoJSON'],
  ['{"type":"FeatureCollection","features":[', 'the file ends in the middle of its JSON'],
  ['{"type":"Feature","x":"', 'the file ends in the middle of its JSON'],
] as const) {
  test(`GeoJSON: ${text} is rejected`, () => assert.deepEqual(geojson(text), [`! ${message}`]))
}

test('GeoJSON: a truncated collection yields the features before the cut', () => {
  const text = JSON.stringify(collection(point({ time: 1 }), point({ time: 2 })))
  assert.deepEqual(geojson(text.slice(0, -20)), [
    { place: 1, time: 1, lat: 1, long: 2 },
    '! the file ends in the middle of its JSON',
  ])
})
