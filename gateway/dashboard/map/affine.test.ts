import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applied, fitAffine, type Pair, worstMiss } from './affine.ts'

const near = ([x, y]: readonly [number, number], [u, v]: readonly [number, number]) =>
  assert.ok(Math.hypot(x - u, y - v) < 1e-6 * (1 + Math.hypot(u, v)), `${x}, ${y} is not ${u}, ${v}`)

/** Places a picture whose lines count downwards on a rotated map. */
function onMap([x, y]: readonly [number, number], scale: number, turn: number): [number, number] {
  const [cos, sin] = [Math.cos(turn) * scale, Math.sin(turn) * scale]
  return [1000 + cos * x + sin * y, 2000 + sin * x - cos * y]
}
const pair = (x: number, y: number, scale: number, turn: number): Pair => ({
  from: [x, y],
  to: onMap([x, y], scale, turn),
})

test('two pairs move, turn and scale a picture, without mirroring it', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.01, max: 9, noNaN: true }),
      fc.double({ min: -4, max: 4, noNaN: true }),
      (scale, turn) => {
        const affine = fitAffine([pair(10, 20, scale, turn), pair(300, 90, scale, turn)])
        assert.ok(affine)
        near(applied(affine, 77, -5), onMap([77, -5], scale, turn))
      },
    ),
  )
})

test('three points in a line are as good as two', () => {
  const affine = fitAffine([0, 100, 200].map((x) => pair(x, x, 2, 0.5)))
  assert.ok(affine)
  near(applied(affine, 5, 300), onMap([5, 300], 2, 0.5))
})

test('three pairs may shear, and are matched exactly', () => {
  const pairs: Pair[] = [
    { from: [0, 0], to: [10, 10] },
    { from: [100, 0], to: [210, 30] },
    { from: [0, 100], to: [-20, -60] },
  ]
  const affine = fitAffine(pairs)
  assert.ok(affine)
  assert.ok(worstMiss(pairs, affine) < 1e-6)
})

test('one of four pairs that is a metre off shifts the picture by less than a metre', () => {
  const pairs = [pair(0, 0, 1, 0.2), pair(100, 0, 1, 0.2), pair(100, 80, 1, 0.2), pair(0, 80, 1, 0.2)]
  const shifted: Pair = {
    from: pairs[3]?.from ?? [0, 0],
    to: [(pairs[3]?.to[0] ?? 0) + 1, pairs[3]?.to[1] ?? 0],
  }
  const affine = fitAffine([...pairs.slice(0, 3), shifted])
  assert.ok(affine)
  assert.ok(worstMiss(pairs, affine) < 1)
})

test('no pair, one pair, and the same point twice yield no fit', () => {
  assert.equal(fitAffine([]), null)
  assert.equal(fitAffine([pair(1, 2, 1, 0)]), null)
  assert.equal(fitAffine([pair(1, 2, 1, 0), pair(1, 2, 1, 0)]), null)
  assert.equal(
    fitAffine([
      { from: [0, 0], to: [5, 5] },
      { from: [9, 9], to: [5, 5] },
    ]),
    null,
  )
})
