import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scaleAt } from './geometry.ts'
import { staysOf } from './stays.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch } from './watch.ts'
import { watchedZones } from './watched-zones.ts'
import type { Zone } from './zone.ts'

const START_MS = Date.UTC(2026, 4, 1, 12)
const { latM, longM } = scaleAt(60e7)

function at(eastM: number, northM: number) {
  return { latE7: Math.round(60e7 + northM / latM), longE7: Math.round(10e7 + eastM / longM) }
}

/** Five seconds apart, on the line through all boxes. */
function fix(step: number, northM: number): Fix {
  return { atMs: START_MS + step * 5000, ...at(0, northM) }
}

function box(id: string, south: number, north: number, more: Partial<Zone> = {}): Zone {
  const ring = [at(-50, south), at(50, south), at(50, north), at(-50, north)]
  const rest = { isVisible: false, message: null, maxSpeedKmh: null, hole: null }
  return {
    id,
    name: id,
    type: 'parking',
    isEnabled: true,
    ...rest,
    shape: { kind: 'polygon', ring },
    ...more,
  }
}

const BARN = box('barn', 0, 100)

/** A device that is watched, and the zones it is in: `barn@15`, seconds since the start. */
class Cart {
  state: WatchState = NO_ZONE_STATE
  #step = 0
  #newest: Fix | null = null
  readonly #zones: readonly Zone[]

  constructor(...zones: Zone[]) {
    this.#zones = zones
  }

  drive(...northM: number[]): this {
    for (const north of northM) {
      this.#newest = fix(this.#step++, north)
      this.state = watch(this.state, watchedZones(this.#zones), this.#newest).state
    }
    return this
  }

  /** With other zones from now on. */
  among(...zones: Zone[]): Cart {
    const other = new Cart(...zones)
    Object.assign(other, { state: this.state })
    other.#step = this.#step
    other.#newest = this.#newest
    return other
  }

  get stays(): string {
    const stays = staysOf(this.state, watchedZones(this.#zones), this.#newest)
    return stays.map(({ zoneId, sinceMs }) => `${zoneId}@${(sinceMs - START_MS) / 1000}`).join(' ')
  }
}

test('a device that was never seen is in no zone', () => {
  assert.equal(new Cart(BARN).stays, '')
})

test('the first known fix counts immediately', () => {
  assert.equal(new Cart(BARN).drive(50).stays, 'barn@0')
})

test('a device is in from the first of two agreeing fixes, and out at the second of two', () => {
  const cart = new Cart(BARN).drive(-60, -30, 20)
  assert.equal(cart.stays, '')
  assert.equal(cart.drive(40).stays, 'barn@10')
  assert.equal(cart.drive(50, 60, 50).stays, 'barn@10')
  assert.equal(cart.drive(150).stays, 'barn@10')
  assert.equal(cart.drive(160).stays, '')
})

test('a single fix elsewhere does not change the zones of a device', () => {
  assert.equal(new Cart(BARN).drive(-60, 20, 40, 300, 40).stays, 'barn@5')
})

test('a device lists its zones by id, each with its own time', () => {
  const cart = new Cart(box('site', -500, 500), BARN, box('a', 30, 60)).drive(-300, -60, 10, 40, 50)
  assert.equal(cart.stays, 'a@15 barn@10 site@0')
})

test('a device that only passed through a zone is in no zone', () => {
  assert.equal(new Cart(box('narrow', 0, 4)).drive(-30, -15, 20, 40).stays, '')
})

test('new zones are evaluated immediately with the newest fix and its time', () => {
  const cart = new Cart(BARN).drive(-60, 20, 40)
  const both = cart.among(BARN, box('path', 30, 50), box('far', 300, 400))
  assert.equal(both.stays, 'barn@5 path@10')
  assert.equal(both.drive(41).stays, 'barn@5 path@10')
})

test('the first zones of a site are also evaluated with the newest fix', () => {
  assert.equal(new Cart().drive(40).among(BARN).stays, 'barn@0')
})

test('the newest position determines the zones of a device without a zone state', () => {
  const newest = fix(7, 50)
  assert.deepEqual(staysOf(NO_ZONE_STATE, watchedZones([BARN]), newest), [{ zoneId: 'barn', sinceMs: newest.atMs }])
  assert.deepEqual(staysOf(NO_ZONE_STATE, watchedZones([BARN]), fix(7, 300)), [])
})

test('a zone that gets another shape keeps the devices that are in it', () => {
  const cart = new Cart(BARN).drive(-60, 20, 40, 40)
  const wider = cart.among(box('barn', -10, 120))
  assert.equal(wider.stays, 'barn@5')
  assert.equal(wider.drive(41).stays, 'barn@5')
  assert.equal(cart.among(box('barn', 60, 120)).stays, '')
})

test('a device leaves a new zone at the second fix outside it', () => {
  const cart = new Cart().drive(40).among(BARN)
  assert.equal(cart.drive(300).stays, 'barn@0')
  assert.equal(cart.drive(310).stays, '')
})

test('deleted and disabled zones end immediately', () => {
  const cart = new Cart(BARN).drive(40)
  assert.equal(cart.among(box('other', 300, 400)).stays, '')
  assert.equal(cart.among({ ...BARN, isEnabled: false }).stays, '')
})

test('a zone state stored by an earlier program begins at its last fix', () => {
  const cart = new Cart(BARN).drive(-60, 20, 40, 41)
  for (const zone of cart.state.zones) delete zone.sinceMs
  assert.equal(cart.stays, 'barn@15')
  assert.equal(cart.drive(42).stays, 'barn@15')
  assert.equal(cart.drive(43).stays, 'barn@15')
})

test('five hundred zones that cover everything are all detected at low cost', () => {
  const zones = Array.from({ length: 500 }, (_, i) => box(`z${i}`, -1000 - i, 1000 + i))
  const watched = watchedZones(zones)
  let state = NO_ZONE_STATE
  for (let i = 0; i < 50; i++) state = watch(state, watched, fix(i, i)).state
  assert.equal(staysOf(state, watched, null).length, 500)
  const before = state
  state = watch(state, watched, fix(50, 0)).state
  // none of it may be written
  assert.ok(state.zones.every((zone, place) => zone === before.zones[place]))
})
