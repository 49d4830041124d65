import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAge, formatDay, formatDistance, formatMoment, formatSpan, formatTime } from './format.ts'
import { language, units } from './texts.ts'

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]

/** Parses a text into ms. */
function read(text: string): number {
  const units: Record<string, number> = { s: 1_000, min: MINUTE_MS, h: HOUR_MS, day: DAY_MS, days: DAY_MS }
  return [...text.matchAll(/(\d+) (\w+)/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? Number.NaN),
    0,
  )
}

test('a span is shown with at most a tenth too much or too little, above five minutes', () => {
  assert.equal(formatSpan(2 * HOUR_MS - MINUTE_MS), '1 h 59 min')
  assert.equal(formatSpan(HOUR_MS + 50 * MINUTE_MS), '1 h 50 min')
  assert.equal(formatSpan(HOUR_MS - 1), '1 h')
  assert.equal(formatSpan(3 * DAY_MS - HOUR_MS), '2 days 23 h')
  for (let ms = 5 * MINUTE_MS; ms < 400 * DAY_MS; ms *= 1.003) {
    const shown = read(formatSpan(ms))
    assert.ok(Math.abs(shown - ms) <= ms / 10, `${formatSpan(ms)} for ${ms / HOUR_MS} h`)
  }
})

test('German days follow the word before them', (t) => {
  t.after(() => {
    language.value = 'en'
  })
  language.value = 'de'
  assert.equal(formatSpan(12 * DAY_MS), '12 Tage')
  assert.equal(formatAge(new Date(0).toISOString(), 12 * DAY_MS), 'vor 12 Tagen')
  assert.equal(formatAge(new Date(0).toISOString(), 2 * DAY_MS + HOUR_MS), 'vor 2 Tagen 1 Std.')
})

test('a way that is short is not nothing', () => {
  assert.equal(formatDistance(0, 'metric'), '0.0 km')
  assert.equal(formatDistance(40, 'metric'), '40 m')
  assert.equal(formatDistance(40, 'imperial'), '44 yd')
  assert.equal(formatDistance(12_450, 'metric'), '12.5 km')
})

test('a course in miles writes dates and times the American way, in English only', (t) => {
  t.after(() => {
    language.value = 'en'
    units.value = 'metric'
  })
  const atMs = Date.parse('2026-11-28T14:05:00Z')
  const shown = () => [formatTime(atMs, 'UTC'), formatMoment(atMs, 0, 'UTC'), formatDay(atMs, 'UTC')]
  assert.deepEqual(shown(), ['14:05', '28 Nov, 14:05', '28 Nov 2026'])
  units.value = 'imperial'
  const plain = shown().map((text) => text.replaceAll('\u202f', ' '))
  assert.deepEqual(plain, ['2:05 PM', 'Nov 28, 2:05 PM', 'Nov 28, 2026'])
  language.value = 'de'
  assert.equal(shown()[0], '14:05')
})
