import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HOUR_MS } from '#shared/time.ts'
import { driving, exemptFrom, NOON } from '#testing/course/cart-drill.ts'

describe('outside', () => {
  test('opens outside all boundaries and closes inside one', () => {
    const drill = driving().pass(1)
    drill.say({ northM: 500 })
    drill.stays = []
    drill.pass(10)
    assert.deepEqual(drill.changed[0]?.details, { lat: 28.4145, long: -81.58 })
    drill.say({ northM: 0 })
    drill.enter('boundary')
    drill.pass(10)
    drill.say({ northM: 500 })
    drill.stays = []
    drill.pass(10)
    assert.deepEqual(drill.changes, ['opened outside', 'closed outside', 'opened outside'])
  })

  test('opens one alert for a cart that wanders at the edge for ten minutes', () => {
    const drill = driving()
    drill.pass(600, (second) => {
      const northM = second % 20 < 10 ? 12 : -12
      drill.say({ northM })
      if (northM > 0) drill.stays = []
      else drill.enter('boundary')
    })
    assert.equal(drill.changes.filter((line) => line === 'opened outside').length, 1)
  })

  test('closes when the last boundary is deleted and when the cart is in the barn', () => {
    const drill = driving()
    drill.stays = []
    drill.pass(2)
    drill.zoneContext = { hasParking: true, hasBoundary: false }
    drill.pass(2)
    assert.deepEqual(drill.changes, ['opened outside', 'closed outside'])
    const other = driving()
    other.stays = []
    other.pass(2)
    other.enter('parking')
    other.pass(2)
    assert.deepEqual(other.changes, ['opened outside', 'closed outside'])
  })

  test('stays open when the cart loses its signal', () => {
    const drill = driving()
    drill.stays = []
    drill.pass(2)
    drill.isOnline = false
    drill.pass(600)
    assert.deepEqual(drill.openKinds, ['outside', 'silent_on_course'])
  })

  test('does not open for an exempt cart', () => {
    const drill = driving()
    drill.notes = exemptFrom('stop')
    drill.stays = []
    drill.pass(2)
    assert.deepEqual(drill.changes, ['opened outside'])
    const other = driving()
    other.notes = exemptFrom('boundary')
    other.stays = []
    other.pass(3590, () => other.say({}))
    assert.deepEqual(other.changes, [])
    other.pass(20, () => other.say({}))
    assert.deepEqual(other.changes, ['opened outside'])
  })
})

describe('zone_stay', () => {
  test('opens one alert per stop zone after the seconds set for the site and closes on leaving', () => {
    const drill = driving()
    drill.enter('boundary', 'stop')
    drill.pass(60)
    assert.deepEqual(drill.changes, [])
    drill.pass(1)
    assert.deepEqual(drill.changed[0]?.details, { zone_id: 'stop', name: 'The stop', seconds: 61 })
    const [stay] = drill.stays.slice(1)
    assert.ok(stay !== undefined)
    drill.stays = [...drill.stays, { ...stay, zoneId: 'other' }]
    drill.pass(2)
    assert.deepEqual(drill.openKinds, ['zone_stay', 'zone_stay'])
    drill.say({ northM: 200 })
    drill.enter('boundary')
    drill.pass(2)
    assert.deepEqual(drill.openKinds, [])
    assert.equal(drill.changes.length, 4)
  })

  test('counts from the time the clock was set', () => {
    const drill = driving()
    drill.enter('boundary', 'stop')
    drill.nowMs += HOUR_MS
    drill.countFromMs = drill.nowMs
    drill.say({})
    drill.pass(60)
    assert.deepEqual(drill.changes, [])
    drill.pass(1)
    assert.deepEqual(drill.changes, ['opened zone_stay'])
  })

  test('does not open for an exempt cart that stays in a stop zone', () => {
    const drill = driving()
    drill.notes = exemptFrom('slow')
    drill.enter('boundary', 'stop')
    drill.pass(600)
    assert.deepEqual(drill.changes, [])
  })

  test('stays open over a restart and is not published twice', () => {
    const drill = driving()
    drill.enter('boundary', 'stop')
    drill.pass(61)
    drill.restart()
    drill.pass(61)
    assert.deepEqual(drill.changes, ['opened zone_stay'])
  })

  test('opens one alert for a cart that wanders at the edge of a zone for ten minutes', () => {
    const drill = driving(NOON, { zoneStayS: 1 })
    drill.pass(600, (second) => {
      drill.say({ northM: second % 20 < 10 ? 10 : -10 })
      if (second % 20 === 0) drill.enter('boundary', 'stop')
      if (second % 20 === 10) drill.enter('boundary')
    })
    assert.equal(drill.changes.filter((line) => line === 'opened zone_stay').length, 1)
  })
})
