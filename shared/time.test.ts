import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS, MINUTE_MS, parseIso, startOfDayMs, toIso } from './time.ts'

const anyMs = fc.integer({ min: Date.parse('0001-01-01T00:00:00Z'), max: Date.parse('9999-12-30T00:00:00Z') })

test('parseIso reads every time that toIso writes', () => {
  fc.assert(
    fc.property(anyMs, (atMs) => {
      assert.equal(parseIso(toIso(atMs)), atMs)
    }),
  )
})

test('every written time has milliseconds and Z', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (atMs) => {
      assert.match(toIso(atMs), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    }),
  )
})

test('the same moment in any offset is the same time', () => {
  const offset = fc.record({
    minutes: fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }),
    colon: fc.boolean(),
  })
  fc.assert(
    fc.property(anyMs, offset, (atMs, { minutes, colon }) => {
      const sign = minutes < 0 ? '-' : '+'
      const hh = String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0')
      const mm = String(Math.abs(minutes) % 60).padStart(2, '0')
      const local = toIso(atMs + minutes * MINUTE_MS)
      fc.pre(/^\d{4}-/.test(local))
      assert.equal(parseIso(`${local.slice(0, -1)}${sign}${hh}${colon ? ':' : ''}${mm}`), atMs)
    }),
  )
})

const NOON = Date.UTC(2026, 4, 1, 12)

for (const [text, expected] of [
  ['2026-05-01T12:00:00.000Z', NOON],
  ['2026-05-01T12:00:00Z', NOON],
  ['2026-05-01T12:00Z', NOON],
  ['2026-05-01T12:00', NOON],
  ['2026-05-01t12:00z', NOON],
  ['2026-05-01 12:00:00', NOON],
  ['2026-05-01', NOON - 12 * 60 * MINUTE_MS],
  ['2026-05-01T14:00:00+02:00', NOON],
  ['2026-05-01T14:00:00 02:00', NOON],
  ['2026-05-01T14:00:00+0200', NOON],
  ['2026-05-01T06:30:00-05:30', NOON],
  ['2026-05-01T12:00:00-00:00', NOON],
  ['2026-05-01T12:00:00.1Z', NOON + 100],
  ['2026-05-01T12:00:00,25Z', NOON + 250],
  ['2026-05-01T12:00:00.123456789Z', NOON + 123],
  ['2028-02-29', Date.UTC(2028, 1, 29)],
] as const) {
  test(`"${text}" is a date`, () => {
    assert.equal(parseIso(text), expected)
  })
}

for (const [text, same] of [
  ['2026-05-01T24:00:00Z', '2026-05-02T00:00:00Z'],
  ['2026-05-01T24:00Z', '2026-05-02T00:00:00Z'],
  ['2026-02-28T24:00:00.000+02:00', '2026-03-01T00:00:00+02:00'],
  ['2026-12-31T24:00:00-05:00', '2027-01-01T05:00:00Z'],
  ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00Z'],
  ['2026-05-01T12:00:60.500+02:00', '2026-05-01T12:01:00.500+02:00'],
] as const) {
  test(`"${text}" is "${same}"`, () => {
    assert.equal(parseIso(text), parseIso(same))
    assert.notEqual(parseIso(text), undefined)
  })
}

for (const text of [
  '',
  ' ',
  'now',
  '1777636800000',
  '1777636800',
  '2026',
  '2026-05',
  '2026-5-1',
  '2026-02-30',
  '2026-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-05-00',
  '2026-05-32',
  '2026-05-01T24:00:01Z',
  '2026-05-01T24:01:00Z',
  '2026-05-01T24:00:00.001Z',
  '2026-05-01T25:00:00Z',
  '9999-12-31T24:00:00Z',
  '2026-05-01T12:60:00Z',
  '2026-05-01T12:00:61Z',
  '2026-02-30T24:00:00Z',
  '2026-05-01T12Z',
  '2026-05-01T12:00:00.Z',
  '2026-05-01T12:00:00+2',
  '2026-05-01T12:00:00+24:00',
  '2026-05-01T12:00:00+02:60',
  '2026-05-01Z',
  ' 2026-05-01',
  '2026-05-01 ',
  '2026-05-01\n',
  '2026-05-01T12:00:00ZZ',
  '+002026-05-01',
  '2026/05/01',
  '01.05.2026',
  'Fri, 01 May 2026 12:00:00 GMT',
  '٢٠٢٦-05-01',
]) {
  test(`${JSON.stringify(text)} is not a date`, () => {
    assert.equal(parseIso(text), undefined)
  })
}

test('any text is a date or undefined, never an exception', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\d:TZ+. -]{0,32}$/)), (text) => {
      const atMs = parseIso(text)
      assert.ok(atMs === undefined || Number.isInteger(atMs))
    }),
  )
})

test('the start of a day is the last UTC midnight, before 1970 too', () => {
  fc.assert(
    fc.property(anyMs, (atMs) => {
      const start = startOfDayMs(atMs)
      assert.ok(start <= atMs && atMs - start < DAY_MS)
      assert.match(toIso(start), /T00:00:00\.000Z$/)
    }),
  )
})
