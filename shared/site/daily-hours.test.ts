import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBetweenHours } from './daily-hours.ts'
import { TimeZone } from './time-zone.ts'

const BERLIN = new TimeZone('Europe/Berlin')
const at = (time: string, date = '2026-05-01', offset = '+02:00') => Date.parse(`${date}T${time}:00${offset}`)
const minute = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

const SCENARIOS: [from: string, to: string, time: string, isBetween: boolean][] = [
  ['08:00', '17:00', '07:59', false],
  ['08:00', '17:00', '08:00', true],
  ['08:00', '17:00', '16:59', true],
  ['08:00', '17:00', '17:00', false],
  ['20:00', '07:00', '19:59', false],
  ['20:00', '07:00', '20:00', true],
  ['20:00', '07:00', '23:59', true],
  ['20:00', '07:00', '00:00', true],
  ['20:00', '07:00', '06:59', true],
  ['20:00', '07:00', '07:00', false],
  ['20:00', '24:00', '23:59', true],
  ['20:00', '24:00', '00:00', false],
  ['00:00', '24:00', '12:00', true],
]

for (const [from, to, time, isBetween] of SCENARIOS)
  test(`${time} is ${isBetween ? '' : 'not '}between ${from} and ${to}`, () => {
    assert.equal(isBetweenHours(BERLIN, [minute(from), minute(to)], at(time)), isBetween)
  })

test('both hours that clocks show twice are in it, and the one they skip is in none', () => {
  const night: [number, number] = [minute('02:00'), minute('03:00')]
  for (const offset of ['+02:00', '+01:00']) assert.ok(isBetweenHours(BERLIN, night, at('02:30', '2026-10-25', offset)))
  assert.ok(!isBetweenHours(BERLIN, night, at('02:30', '2026-03-29', '+01:00')))
})
