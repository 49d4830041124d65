import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRecord } from './check-record.ts'
import { emptyRecord } from './fields.ts'
import { readTime } from './read-time.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)

for (const [value, expected] of [
  ['2026-05-01T12:00:00Z', NOON_MS],
  [' 2026-05-01T12:00:00.000z ', NOON_MS],
  ['2026-05-01T12:00Z', NOON_MS],
  ['2026-05-01 14:00:00+02:00', NOON_MS],
  ['2026-05-01T06:30:00-0530', NOON_MS],
  ['2026-05-01T12:00:00.1239Z', NOON_MS + 123],
  ['2026-05-01T12:00:00', 'time_without_zone'],
  ['2026-05-01 12:00', 'time_without_zone'],
  ['2026-05-01', 'time_without_zone'],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
  ['2026-02-30T12:00:00Z', 'invalid_time'],
  ['01.05.2026 12:00', 'invalid_time'],
  ['5/1/2026 12:00 PM', 'invalid_time'],
  ['yesterday', 'invalid_time'],
  [true, 'invalid_time'],
  [[], 'invalid_time'],
  ['', 'no_time'],
  ['  ', 'no_time'],
  [null, 'no_time'],
  [undefined, 'no_time'],
  [NOON_MS, NOON_MS],
  [NOON_MS / 1000, NOON_MS],
  [NOON_MS / 1000 + 0.25, NOON_MS + 250],
  [String(NOON_MS), NOON_MS],
  [`${NOON_MS / 1000}.5`, NOON_MS + 500],
  ['820454400', 820_454_400_000],
  [0, 'ambiguous_time'],
  [-1, 'ambiguous_time'],
  [5e10, 'ambiguous_time'],
  [NOON_MS * 1000, 'ambiguous_time'],
  [Number.POSITIVE_INFINITY, 'ambiguous_time'],
  ['20260501120000', 'ambiguous_time'],
] as const) {
  test(`${JSON.stringify(value)} is ${expected}`, () => assert.equal(readTime(value, false), expected))
}

test('a time without a zone is UTC only if requested', () => {
  assert.equal(readTime('2026-05-01 12:00', true), NOON_MS)
  assert.equal(readTime('2026-05-01T14:00:00+02:00', true), NOON_MS)
})

function check(values: object, kmhPerSpeedUnit = 1) {
  const drops: string[] = []
  const found = { ...emptyRecord(7), time: NOON_MS, ...values }
  const record = checkRecord(found, { isUtc: false, kmhPerSpeedUnit }, (reason, place) =>
    drops.push(`${reason}@${place}`),
  )
  const { gps, battery, hardwareId } = record ?? { gps: null, battery: null, hardwareId: null }
  return { gps, battery, hardwareId, drops }
}

const timestamp = '2026-05-01T12:00:00.000Z'
for (const [what, values, expected] of [
  [
    'text that is numbers',
    { lat: ' 1.50', long: '-2e1', speed: '+3' },
    { gps: { timestamp, lat: 1.5, long: -20, speed: 3 } },
  ],
  [
    'a record of both',
    { lat: 1, long: 2, voltage: 50, hardwareId: 'c' },
    { gps: { timestamp, lat: 1, long: 2 }, battery: { timestamp, battery_voltage: 50 }, hardwareId: 'c' },
  ],
  ['what the gateway judges', { lat: 91, long: 2 }, { gps: { timestamp, lat: 91, long: 2 } }],
  ['no position', { speed: 3 }, { drops: ['no_position@7'] }],
  ['half a position', { lat: 1, long: '' }, { drops: ['incomplete_position@7'] }],
  [
    'half a position, but a voltage',
    { lat: 1, voltage: 5 },
    { battery: { timestamp, battery_voltage: 5 }, drops: ['incomplete_position@7'] },
  ],
  ['degrees and minutes', { lat: `28°24'36"N`, long: 2 }, { drops: ['invalid_position@7'] }],
  ['a comma that is no decimal sign', { lat: '1.028,4', long: '2' }, { drops: ['invalid_position@7'] }],
  ['a comma without decimals', { lat: '28,', long: '2' }, { drops: ['invalid_position@7'] }],
  ['hexadecimal', { lat: '0x1F', long: '2' }, { drops: ['invalid_position@7'] }],
  ['more than any number', { lat: '1e999', long: 2 }, { drops: ['invalid_position@7'] }],
  [
    'a speed that is none',
    { lat: 1, long: 2, speed: 'fast' },
    { gps: { timestamp, lat: 1, long: 2 }, drops: ['invalid_speed@7'] },
  ],
  ['a voltage that is none', { voltage: '50 V' }, { drops: ['invalid_battery_voltage@7'] }],
  ['no time', { time: '', lat: 1, long: 2 }, { drops: ['no_time@7'] }],
] as const) {
  test(`a record with ${what}`, () => {
    assert.deepEqual(check(values), { gps: null, battery: null, hardwareId: null, drops: [], ...expected })
  })
}

test('speeds are converted from their unit', () => {
  assert.equal(check({ lat: 1, long: 2, speed: '10' }, 3.6).gps?.speed, 36)
})

test('a cell of many digits is checked quickly', () => {
  const cell = `${'1'.repeat(500_000)}x`
  const startMs = performance.now()
  assert.deepEqual(check({ lat: cell, long: cell }).drops, ['invalid_position@7'])
  assert.ok(performance.now() - startMs < 5_000)
})
