import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCoordinates } from './coordinates.ts'

test('a position is read in the format that maps copy', () => {
  const here = { lat: 52.5007, long: 13.1246 }
  for (const text of ['52.5007, 13.1246', ' 52.5007 13.1246 ', '52.5007,13.1246', '52.5007° N, 13.1246° E'])
    assert.deepEqual(readCoordinates(text), here, text)
  assert.deepEqual(readCoordinates('13.1246 O, 52.5007 N'), here)
  assert.deepEqual(readCoordinates('-33.86, -70.1'), { lat: -33.86, long: -70.1 })
  assert.deepEqual(readCoordinates('33.86° S, 70.1° W'), { lat: -33.86, long: -70.1 })
  const exact = readCoordinates(`52°30'02.5"N 13°07'28.6"E`)
  assert.ok(exact !== null && Math.abs(exact.lat - 52.50069) < 1e-5 && Math.abs(exact.long - 13.12461) < 1e-5)
})

test('an impossible position is rejected', () => {
  for (const text of ['', '0, 0', '52.5007', '95, 13', '52, 190', 'Berlin', '52.5 N, 13.1 S', '1, 2, 3'])
    assert.equal(readCoordinates(text), null, text)
})
