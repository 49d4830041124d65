import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceTrackJson, type Seen } from '#dashboard/testing/track-json.ts'
import { cartTrack, mainDevice } from './cart-track.ts'
import { trackOf } from './track.ts'

const device = (hardwareId: string, deviceType: string, ...seen: Seen[]) => ({
  hardwareId,
  deviceType,
  track: trackOf(deviceTrackJson(hardwareId, deviceType, seen).gps, 0),
})
const fixesOf = (...devices: ReturnType<typeof device>[]) => {
  const track = cartTrack(devices)
  return [...track.atMs].map((atMs, i) => [atMs / 1000, devices[track.device[i] ?? -1]?.hardwareId])
}

test('the lock determines the position while it is at most a minute behind', () => {
  const lock = device('lock', 'teebox', { atS: 0 }, { atS: 60 })
  const screen = device('screen', 'cartcaddie', { atS: 30 }, { atS: 90 }, { atS: 120 }, { atS: 121 })
  assert.deepEqual(fixesOf(lock, screen), [
    [0, 'lock'],
    [60, 'lock'],
    [121, 'screen'],
  ])
})

test('another device determines the position before the first fix of the lock', () => {
  const lock = device('lock', 'teebox', { atS: 100 })
  const screen = device('screen', 'cartcaddie', { atS: 5 }, { atS: 100 }, { atS: 130 })
  assert.deepEqual(fixesOf(screen, lock), [
    [5, 'screen'],
    [100, 'lock'],
  ])
  assert.deepEqual(fixesOf(lock, screen), [
    [5, 'screen'],
    [100, 'lock'],
  ])
})

test('of two locks, and of devices without one, the newest determines the position', () => {
  const [one, two] = [device('one', 'teebox', { atS: 0 }, { atS: 9 }), device('two', 'teebox', { atS: 5 })]
  assert.deepEqual(fixesOf(one, two), [
    [0, 'one'],
    [5, 'two'],
    [9, 'one'],
  ])
  const [three, four] = [device('three', 'tracker', { atS: 1 }), device('four', 'tracker', { atS: 2 })]
  assert.deepEqual(fixesOf(three, four), [
    [1, 'three'],
    [2, 'four'],
  ])
})

test('trips come from the device that determined the position most often', () => {
  const lock = device('lock', 'teebox', { atS: 0 })
  const screen = device('screen', 'cartcaddie', { atS: 100 }, { atS: 101 })
  assert.equal(mainDevice([lock, screen], cartTrack([lock, screen]))?.hardwareId, 'screen')
  assert.equal(mainDevice([device('mute', 'teebox')], cartTrack([device('mute', 'teebox')])), undefined)
})
