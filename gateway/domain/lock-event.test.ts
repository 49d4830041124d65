import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MINUTE_MS } from '#shared/time.ts'
import type { LockEventMessage } from '#shared/wire/mqtt.ts'
import { lockEventFromMessage } from './lock-event.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)

function read(message: Partial<LockEventMessage>) {
  const drops: string[] = []
  const event = lockEventFromMessage({ event: 'unlock', source: 'rfid', ...message }, NOW_MS, (reason) =>
    drops.push(reason),
  )
  return { event, drops }
}

test('an event has the values that the device reported', () => {
  const ts = NOW_MS - 90_000
  assert.deepEqual(read({ eid: '17-42', code: '04A1B2C3', ts }), {
    event: {
      event: 'unlock',
      source: 'rfid',
      atMs: ts,
      code: '04A1B2C3',
      commandId: null,
      identity: `eid:17-42/unlock/${ts}`,
    },
    drops: [],
  })
})

for (const [source, code, expectedCode, expectedDrops] of [
  ['rfid', '04A1', '04A1', []],
  ['keypad', '0815', '0815', []],
  ['keypad', 815, '815', []],
  ['rfid', undefined, null, []],
  ['key', undefined, null, []],
  ['rfid', null, null, []],
  ['key', null, null, []],
  ['key', '04A1', null, ['unexpected_code']],
  ['remote', '04A1', null, ['unexpected_code']],
] as const) {
  test(`source ${source} with code ${code} keeps ${expectedCode}`, () => {
    const { event, drops } = read({ source, code })
    assert.equal(event.code, expectedCode)
    assert.deepEqual(drops, expectedDrops)
  })
}

for (const [what, ts, atMs, expectedDrops] of [
  ['no time', undefined, NOW_MS, []],
  ['null', null, NOW_MS, []],
  ['a time of last winter', Date.UTC(2025, 0, 1), Date.UTC(2025, 0, 1), []],
  ['a fraction of a millisecond', NOW_MS - 0.4, NOW_MS, []],
  ['4 minutes ahead', NOW_MS + 4 * MINUTE_MS, NOW_MS + 4 * MINUTE_MS, []],
  ['6 minutes ahead', NOW_MS + 6 * MINUTE_MS, NOW_MS, ['implausible_time']],
  ['a clock that starts at 1970', 12_345, NOW_MS, ['implausible_time']],
  ['a text with a zone', '2026-05-01T13:00:00+02:00', NOW_MS - 60 * MINUTE_MS, []],
  ['a text without a zone', '2026-05-01T11:00:00', NOW_MS, ['implausible_time']],
] as const) {
  test(`with ${what} the event is kept at ${new Date(atMs).toISOString()}`, () => {
    const { event, drops } = read({ ts })
    assert.equal(event.atMs, atMs)
    assert.deepEqual(drops, expectedDrops)
  })
}

test('only a remote event includes the command that caused it', () => {
  assert.equal(read({ source: 'remote', cmd: 'c-1' }).event.commandId, 'c-1')
  assert.equal(read({ source: 'remote' }).event.commandId, null)
  assert.equal(read({ source: 'rfid', cmd: 'c-1' }).event.commandId, null)
})

test('events with an id are identical if id, kind and time match, whatever their other fields', () => {
  const a = read({ eid: 7, code: 'A', ts: NOW_MS - 1000 }).event
  const b = read({ eid: '7', source: 'key', ts: NOW_MS - 1000 }).event
  assert.equal(a.identity, b.identity)
  assert.notEqual(a.identity, read({ eid: 7, event: 'lock', ts: NOW_MS - 1000 }).event.identity)
  assert.notEqual(a.identity, read({ eid: 7, ts: NOW_MS }).event.identity)
  assert.notEqual(a.identity, read({ eid: 8, code: 'A', ts: NOW_MS - 1000 }).event.identity)
})

test('events without an id are identical exactly if time, event, source and code match', () => {
  const message = fc.record({
    event: fc.constantFrom('lock' as const, 'unlock' as const),
    source: fc.constantFrom('rfid' as const, 'keypad' as const, 'key' as const, 'remote' as const),
    code: fc.constantFrom(undefined, 'A', 'B', '1/A'),
    ts: fc.constantFrom(NOW_MS, NOW_MS - 1, NOW_MS - 1000),
  })
  const expected = (m: { event: string; source: string; code: string | undefined; ts: number }) => {
    const hasCode = m.source === 'rfid' || m.source === 'keypad'
    return JSON.stringify([m.event, m.source, hasCode ? (m.code ?? null) : null, m.ts])
  }
  fc.assert(
    fc.property(message, message, (a, b) => {
      assert.equal(read(a).event.identity === read(b).event.identity, expected(a) === expected(b))
    }),
  )
})
