import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toIso } from '#shared/time.ts'
import { Calendar, closingMs } from './opening-hours.ts'
import type { OpenHours, OpeningHours } from './settings.ts'
import { TimeZone } from './time-zone.ts'

const BERLIN = new TimeZone('Europe/Berlin')
const DAY: OpenHours = { opensMinute: 7 * 60, closesMinute: 20 * 60 }
/** Closed on Mondays, until midnight on Saturdays. */
const HOURS: OpeningHours = {
  mon: null,
  tue: DAY,
  wed: DAY,
  thu: DAY,
  fri: DAY,
  sat: { opensMinute: 7 * 60, closesMinute: 1440 },
  sun: DAY,
}
const calendar = new Calendar(BERLIN, HOURS)
const at = (text: string) => Date.parse(text)
const closing = (day: { closesMs: number } | null) => (day === null ? null : toIso(day.closesMs))

test('it is closed before opening, from closing on, and all day on a day without hours', () => {
  // 1 May 2026 is a Friday
  assert.ok(calendar.isClosed(at('2026-05-01T04:59:59Z')))
  assert.ok(!calendar.isClosed(at('2026-05-01T05:00:00Z')))
  assert.ok(!calendar.isClosed(at('2026-05-01T17:59:59Z')))
  assert.ok(calendar.isClosed(at('2026-05-01T18:00:00Z')))
  assert.ok(calendar.isClosed(at('2026-05-04T10:00:00Z')))
})

test('hours that end at midnight end with the day', () => {
  assert.ok(!calendar.isClosed(at('2026-05-02T21:59:59Z')))
  assert.ok(calendar.isClosed(at('2026-05-02T22:00:00Z')))
  assert.equal(calendar.lastClosing(at('2026-05-02T22:00:00Z'))?.date, '2026-05-02')
})

test('closing times are found across days that are closed', () => {
  assert.equal(closing(calendar.nextClosing(at('2026-05-03T18:00:00Z'))), '2026-05-05T18:00:00.000Z')
  assert.equal(closing(calendar.nextClosing(at('2026-05-03T17:59:59Z'))), '2026-05-03T18:00:00.000Z')
  assert.equal(closing(calendar.lastClosing(at('2026-05-05T17:00:00Z'))), '2026-05-03T18:00:00.000Z')
  assert.equal(calendar.nextOpening(at('2026-05-03T10:00:00Z'))?.date, '2026-05-05')
})

test('one day a week is enough, and none at all is never', () => {
  const closed: OpeningHours = { mon: null, tue: null, wed: null, thu: null, fri: null, sat: null, sun: null }
  const fridays = new Calendar(BERLIN, { ...closed, fri: DAY })
  assert.equal(closing(fridays.nextClosing(at('2026-05-01T18:00:00Z'))), '2026-05-08T18:00:00.000Z')
  assert.equal(closing(fridays.lastClosing(at('2026-05-01T17:00:00Z'))), '2026-04-24T18:00:00.000Z')
  const never = new Calendar(BERLIN, closed)
  assert.equal(never.nextClosing(at('2026-05-01T18:00:00Z')), null)
  assert.ok(never.isClosed(at('2026-05-01T10:00:00Z')))
})

test('while no hours are known nothing is closed, and nothing closes', () => {
  const unknown = new Calendar(BERLIN, null)
  assert.ok(!unknown.isClosed(at('2026-05-01T02:00:00Z')))
  assert.equal(unknown.lastClosing(at('2026-05-01T02:00:00Z')), null)
})

test('closing time stays what the clock shows when the clocks change', () => {
  assert.equal(closing(calendar.nextClosing(at('2026-03-28T23:00:00Z'))), '2026-03-29T18:00:00.000Z')
  assert.equal(closing(calendar.nextClosing(at('2026-10-24T22:00:00Z'))), '2026-10-25T19:00:00.000Z')
  const unknown = new Calendar(BERLIN, null)
  assert.equal(toIso(closingMs(unknown, BERLIN, at('2026-10-25T01:30:00Z'))), '2026-10-25T23:00:00.000Z')
})
