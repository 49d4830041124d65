import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HOUR_MS, toIso } from '#shared/time.ts'
import { dateAfter, isCalendarDate, isTimeZone, TimeZone } from './time-zone.ts'

const BERLIN = new TimeZone('Europe/Berlin')
/** The clocks go by half an hour here. */
const LORD_HOWE = new TimeZone('Australia/Lord_Howe')
/** The clocks change at midnight here: that of the day is skipped. */
const BEIRUT = new TimeZone('Asia/Beirut')
const ZONES = [BERLIN, LORD_HOWE, BEIRUT, new TimeZone('UTC'), new TimeZone('America/New_York')]

const hours = ({ fromMs, untilMs }: { fromMs: number; untilMs: number }) => (untilMs - fromMs) / HOUR_MS

test('a day has 23 or 25 hours where the clocks change, and 24 otherwise', () => {
  assert.equal(hours(BERLIN.day('2026-03-29')), 23)
  assert.equal(hours(BERLIN.day('2026-10-25')), 25)
  assert.equal(hours(BERLIN.day('2026-10-26')), 24)
  assert.equal(hours(LORD_HOWE.day('2026-04-05')), 24.5)
  assert.equal(hours(LORD_HOWE.day('2026-10-04')), 23.5)
})

test('a day whose midnight is skipped begins after the clock change', () => {
  const day = BEIRUT.day('2026-03-29')
  assert.equal(toIso(day.fromMs), '2026-03-28T22:00:00.000Z')
  assert.equal(BEIRUT.local(day.fromMs).minuteOfDay, 60)
  assert.equal(hours(day), 23)
})

test('a skipped time is the end of the gap, and a repeated time is the first of the two', () => {
  assert.equal(toIso(BERLIN.instantOf('2026-03-29', 150)), '2026-03-29T01:00:00.000Z')
  assert.equal(toIso(BERLIN.instantOf('2026-10-25', 150)), '2026-10-25T00:30:00.000Z')
})

test('the end of a day is the beginning of the next', () => {
  for (const zone of ZONES)
    for (const date of ['2026-03-28', '2026-03-29', '2026-10-24', '2026-10-25', '2026-12-31'])
      assert.equal(zone.instantOf(date, 1440), zone.instantOf(dateAfter(date, 1), 0), `${zone.name} ${date}`)
})

test('a local time converts back to its instant, except the second of two equal times', () => {
  const zones = fc.constantFrom(...ZONES)
  const instants = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2037, 0) })
  fc.assert(
    fc.property(zones, instants, (zone, atMs) => {
      const { date, minuteOfDay } = zone.local(atMs)
      const found = zone.instantOf(date, minuteOfDay)
      assert.deepEqual(zone.local(found), { date, minuteOfDay })
      assert.ok(found === atMs || (found < atMs && atMs - found <= HOUR_MS))
      const day = zone.day(date)
      assert.ok(day.fromMs <= atMs && atMs < day.untilMs)
    }),
  )
})

test('names of places are accepted as time zones, other text is rejected', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires']) assert.ok(isTimeZone(name))
  for (const name of ['', 'Mars/Olympus', '+02:00', 'Europe/Berlin ', '../etc/passwd']) assert.ok(!isTimeZone(name))
})

test('a calendar date is accepted, and text that only resembles one is rejected', () => {
  for (const text of ['2026-02-28', '2028-02-29']) assert.ok(isCalendarDate(text))
  for (const text of ['2026-02-29', '2026-13-01', '2026-2-1', '20260201', '', '2026-02-28T00:00'])
    assert.ok(!isCalendarDate(text))
})

test('offsets are those of the runtime at any second, also after thousands of others', () => {
  const names = Intl.supportedValuesOf('timeZone')
  for (const name of names) {
    const zone = new TimeZone(name)
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
    const expected = (atMs: number) => {
      const { value = '' } = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName') ?? {}
      const [, sign, hours = 0, minutes = 0] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(value) ?? []
      return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * 60_000)
    }
    // each change of some years, the second before it and the second of it
    for (
      let atMs = Date.parse('2024-01-01T00:00:00Z');
      atMs < Date.parse('2027-01-01T00:00:00Z');
      atMs += 7 * 24 * HOUR_MS
    ) {
      if (zone.offsetMs(atMs) === zone.offsetMs(atMs + 7 * 24 * HOUR_MS)) continue
      const changeMs = firstWith((ms) => expected(ms) !== expected(atMs), atMs, atMs + 7 * 24 * HOUR_MS)
      for (const ms of [changeMs - 1, changeMs, changeMs + 1])
        assert.equal(zone.offsetMs(ms), expected(ms), `${name} ${toIso(ms)}`)
    }
  }
})

test('any instant from 1972 to 2040 has the offset that its local time shows', () => {
  const zones = Intl.supportedValuesOf('timeZone').map((name) => new TimeZone(name))
  const instants = fc.integer({ min: Date.UTC(1970, 0, 1) / 1000, max: Date.UTC(2040, 0, 1) / 1000 })
  fc.assert(
    fc.property(fc.constantFrom(...zones), instants, (zone, seconds) => {
      const shown = new Date(seconds * 1000).toLocaleString('sv-SE', { timeZone: zone.name })
      assert.equal(Date.parse(`${shown.replace(' ', 'T')}Z`) - seconds * 1000, zone.offsetMs(seconds * 1000), zone.name)
    }),
    { numRuns: 2_000 },
  )
})

/** The first of the instants from `lowMs` to `highMs` for which a test holds, which then holds to the end. */
function firstWith(test: (ms: number) => boolean, lowMs: number, highMs: number): number {
  let [low, high] = [lowMs, highMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (test(middle)) high = middle
    else low = middle
  }
  return high
}
