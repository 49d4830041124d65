import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALERT_KINDS, type AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { type NoticeContext, noticeOf, testNotice } from './notification.ts'

const CONTEXT: NoticeContext = {
  site: { name: 'Pebble Creek', language: 'en', timeZone: 'America/New_York' },
  baseUrl: 'https://barn.example',
  placeOf: () => ({ player: null, zones: ['Hole 7', 'Green 7'], position: { lat: 28.411234567, long: -81.58 } }),
  isLate: false,
  maxBytes: 3800,
}
const GERMAN: NoticeContext = { ...CONTEXT, site: { name: 'Grünau', language: 'de', timeZone: 'Europe/Berlin' } }

function alert(kind: AlertKind, cart: string | null, details: Record<string, unknown> = {}): AlertJson {
  return {
    alert_id: 'a',
    kind,
    cart,
    hardware_id: cart,
    opened_at: '2026-05-01T18:05:00.000Z',
    closed_at: null,
    acknowledged_at: null,
    acknowledged_by: null,
    note: null,
    details,
  }
}

test('an alert names who plays with the cart', () => {
  const context = { ...CONTEXT, placeOf: () => ({ player: 'Miller', zones: [], position: null }) }
  assert.match(noticeOf([alert('outside', '17')], context).title, /Cart 17 \(Miller\): /)
})

test('a notification names cart, alert, place, start time and the link to the cart', () => {
  const notice = noticeOf([alert('low_battery', '17', { voltage: 46.94, threshold: 47.5 })], CONTEXT)
  assert.deepEqual(notice, {
    title: 'Pebble Creek: Cart 17: low battery, 46.94 V resting (low is under 47.5 V)',
    text: [
      'Cart 17: low battery, 46.94 V resting (low is under 47.5 V)',
      'Where: Hole 7, Green 7 (28.41123, -81.58000)',
      'Since: 1 May 2026, 14:05',
      'https://barn.example/app/#cart=17',
    ].join('\n'),
    link: 'https://barn.example/app/#cart=17',
  })
})

test('a late notification in German has the same content', () => {
  const notice = noticeOf([alert('low_battery', 'Ä/1', { voltage: 46.94, threshold: 47.5 })], {
    ...GERMAN,
    isLate: true,
    placeOf: () => undefined,
  })
  assert.deepEqual(notice, {
    title: 'Verspätet: Grünau: Cart Ä/1: Batterie schwach, 46,94 V in Ruhe (schwach unter 47,5 V)',
    text: [
      'Verspätet: diese Nachricht konnte nicht früher zugestellt werden.',
      '',
      'Cart Ä/1: Batterie schwach, 46,94 V in Ruhe (schwach unter 47,5 V)',
      'Wo: unbekannt',
      'Seit: 01.05.2026, 20:05',
      'https://barn.example/app/#cart=%C3%84%2F1',
    ].join('\n'),
    link: 'https://barn.example/app/#cart=%C3%84%2F1',
  })
})

test('a late notification begins with Late', () => {
  const { text } = noticeOf([alert('outside', '17')], { ...CONTEXT, isLate: true })
  assert.match(text, /^Late: /)
  assert.match(testNotice({ ...CONTEXT, isLate: true }).text, /^Late: /)
})

test('an alert of the gateway has no position', () => {
  const details = { user_id: 'u', name: 'Ann', until: '2026-05-01T18:10:00.000Z' }
  const { text } = noticeOf([alert('pin_locked', null, details)], CONTEXT)
  const what = 'Gateway: too many wrong PINs: Ann, locked until 1 May 2026, 14:10'
  assert.equal(text, `${what}\nSince: 1 May 2026, 14:05\nhttps://barn.example/app/#alerts`)
})

test('a cart whose position is unknown now is shown where it was last', () => {
  const context = { ...CONTEXT, placeOf: () => ({ player: null, zones: [], position: null }) }
  const { text } = noticeOf([alert('outside', '17', { lat: 1.5, long: 2 })], context)
  assert.match(text, /^Where: 1\.50000, 2\.00000$/m)
})

test('several alerts are one message with one title', () => {
  const notice = noticeOf([alert('outside', '3'), alert('moved_after_hours', '10')], CONTEXT)
  assert.equal(notice.title, 'Pebble Creek: 2 alerts')
  assert.deepEqual(notice.text.match(/^Cart .*$/gm), ['Cart 3: off course', 'Cart 10: moved after closing'])
  assert.equal(notice.link, 'https://barn.example/app/#cart=3')
})

test('a message about very many alerts names as many as fit', () => {
  const [first, ...others] = Array.from({ length: 500 }, (_, i) => alert('outside', `${i}`))
  assert.ok(first !== undefined)
  const { text, title } = noticeOf([first, ...others], GERMAN)
  assert.equal(title, 'Grünau: 500 Alarme')
  const named = text.match(/^Cart/gm)?.length ?? 0
  assert.ok(named > 15, `${named}`)
  assert.ok(text.endsWith(`\n\nUnd ${500 - named} weitere.`))
  assert.ok(Buffer.byteLength(text) <= 3800)
})

describe('every alert kind', () => {
  const details = { voltage: 48, threshold: 47, name: 'Bunker', seconds: 90, since: '2026-05-01T18:00:00Z' }
  for (const kind of ALERT_KINDS)
    test(`${kind} has texts in both languages, whatever its details`, () => {
      for (const context of [CONTEXT, GERMAN])
        for (const given of [{}, details, { voltage: 'x', threshold: null, name: 7, since: 'never' }]) {
          const { text } = noticeOf([alert(kind, '17', given)], context)
          assert.ok(!/undefined|null|NaN|\[object/.test(text), text)
        }
    })
})

test('a title is one line', () => {
  const { title } = noticeOf([alert('zone_stay', '17', { name: 'Bun\r\nker', seconds: 60 })], CONTEXT)
  assert.equal(title, 'Pebble Creek: Cart 17: stopped in a no-go zone: Bun ker (1 min)')
})
