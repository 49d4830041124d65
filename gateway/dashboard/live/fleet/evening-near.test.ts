import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isEveningNear } from './evening-near.ts'

const DAY = ['07:00', '20:00'] as [string, string]
const HOURS = { mon: null, tue: DAY, wed: DAY, thu: DAY, fri: DAY, sat: DAY, sun: DAY }
// 1 May 2026 is a Friday; Berlin is two hours ahead of UTC
const at = (time: string, day = '2026-05-01') =>
  isEveningNear({ opening_hours: HOURS, time_zone: 'Europe/Berlin' }, Date.parse(`${day}T${time}Z`))

test('the evening is near from an hour before closing until the course opens', () => {
  assert.deepEqual([at('16:59:59'), at('17:00:00'), at('18:30:00')], [false, true, true])
  assert.deepEqual([at('03:00:00'), at('05:00:00')], [true, false])
  assert.ok(at('10:00:00', '2026-05-04'), 'on a day without hours')
})

test('without opening hours it is always offered', () => {
  assert.ok(isEveningNear(null, 0))
  assert.ok(isEveningNear({ opening_hours: null, time_zone: 'UTC' }, 0))
})
