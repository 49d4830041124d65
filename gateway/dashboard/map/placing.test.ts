import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartJson, parkedJson } from '#dashboard/testing/cart-json.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import { Markers } from './markers.ts'
import { toX, toY } from './mercator.ts'
import { isInView, markerAt, markersAt, pillAt, place, ROOM_PX, type Screen, TAP_PX } from './placing.ts'

const MIDDLE = { long: -81.58, lat: 28.41 }

/**
 * Creates a screen with one pixel for one unit of the plane, north up, the centre of the course in the centre of 800 x
 * 600.
 */
function screen(others: Partial<Screen> = {}): Screen {
  const scale = others.scale ?? 1
  const transform = [scale, 0, 0, -scale, 400 - toX(MIDDLE.long) * scale, 300 + toY(MIDDLE.lat) * scale] as const
  return {
    transform: [scale, 0, 0, -scale, transform[4] ?? 0, transform[5] ?? 0],
    widthPx: 800,
    heightPx: 600,
    insets: { top: 100, right: 0, bottom: 0, left: 0 },
    scale,
    isClosest: false,
    isFar: false,
    buttons: null,
    ...others,
  }
}

/** Places a cart at an offset in pixels right of and above the centre, at scale 1. */
function at(cart: CartJson, right: number, up: number): CartJson {
  const degrees = 1 / 111_319.490_793
  const long = MIDDLE.long + right * degrees
  const lat = MIDDLE.lat + up * degrees * Math.cos((MIDDLE.lat * Math.PI) / 180)
  return { ...cart, position: cart.position && { ...cart.position, lat, long } }
}

function placed(carts: CartJson[], on: Screen = screen(), chosen: string | null = null): Markers {
  const markers = new Markers()
  markers.take(new Map(carts.map((cart) => [cart.cart, cart])), null, chosen)
  place(markers, on, chosen)
  return markers
}

test('carts are drawn at their map position, and not drawn beyond the screen', () => {
  const markers = placed([at(cartJson('1'), 100, 50), at(cartJson('2'), 5_000, 0)])
  const marker = markers.find('1')
  assert.deepEqual([Math.round(marker?.px ?? 0), Math.round(marker?.py ?? 0)], [500, 250])
  assert.equal(marker?.isShown, true)
  assert.equal(markers.find('2')?.isShown, false)
})

test('carts are drawn before a small move of the map brings them into view', () => {
  const markers = placed([at(cartJson('1'), 400 + ROOM_PX, 0), at(cartJson('2'), 0, -300 - ROOM_PX)])
  assert.deepEqual(
    markers.all.map(({ isShown }) => isShown),
    [true, true],
  )
})

test('an off-course cart beyond the screen is drawn at its edge', () => {
  const markers = placed([at(cartJson('1', { state: 'outside' }), 5_000, 5_000)])
  const marker = markers.find('1')
  assert.deepEqual([marker?.px, marker?.py, marker?.isShown], [776, 124, true])
})

test('a cart in the corner of the buttons is drawn next to them, and is moved into view when selected', () => {
  const buttons = { left: 730, top: 410, right: 788, bottom: 584 }
  const outside = (right: number, up: number) =>
    placed([at(cartJson('1', { state: 'outside' }), right, up)], screen({ buttons })).find('1')
  const far = outside(5_000, -5_000)
  assert.deepEqual([far?.px, far?.py], [706, 576])
  const near = outside(370, -120)
  assert.deepEqual([Math.round(near?.px ?? 0), near?.py], [770, 386])
  const adjacent = outside(370, -80)
  assert.deepEqual([Math.round(adjacent?.px ?? 0), Math.round(adjacent?.py ?? 0)], [770, 380])
  assert.equal(isInView({ px: 770, py: 420 }, screen({ buttons })), false)
  assert.equal(isInView({ px: 770, py: 380 }, screen({ buttons })), true)
})

test('a tap selects the nearest cart within reach of a thumb, and no other', () => {
  const markers = placed([at(cartJson('1'), 0, 0), at(cartJson('2'), 30, 0)])
  assert.equal(markerAt(markers, 412, 300)?.cart.cart, '1')
  assert.equal(markerAt(markers, 418, 300)?.cart.cart, '2')
  assert.equal(markerAt(markers, 400, 300 + TAP_PX - 1)?.cart.cart, '1')
  assert.equal(markerAt(markers, 400, 300 + TAP_PX + 1), null)
})

test('a tap on carts at one position selects the topmost', () => {
  const carts = Array.from({ length: 500 }, (_, index) => cartJson(String(index)))
  const markers = placed([...carts, cartJson('low', { is_low: true })])
  assert.equal(markerAt(markers, 400, 300)?.cart.cart, 'low')
})

test('parked carts are one cluster until there is room for each', () => {
  const carts = Array.from({ length: 25 }, (_, index) => at(parkedJson(String(index)), index * 4, 0))
  const far = placed(carts)
  const [pill] = far.pills
  assert.equal(pill?.isShown, true)
  assert.ok(far.all.every(({ isShown }) => !isShown))
  assert.equal(markerAt(far, 400, 300), null, 'what is in a pill is not tapped')
  const near = placed(carts, screen({ scale: 3 }))
  assert.deepEqual(
    [...near.pills].map(({ isShown }) => isShown),
    [false],
  )
})

test('carts at one position form a cluster at every zoom but the closest', () => {
  const carts = Array.from({ length: 500 }, (_, index) => parkedJson(String(index)))
  assert.equal([...placed(carts).pills][0]?.isShown, true)
  const markers = placed(carts, screen({ isClosest: true }))
  assert.equal([...markers.pills][0]?.isShown, false)
  assert.notEqual(markerAt(markers, 400, 300), null)
})

test('the selected cart is drawn separately from its cluster', () => {
  const markers = placed([parkedJson('1'), parkedJson('2')], screen(), '2')
  assert.equal(markers.find('1')?.isShown, false)
  assert.equal(markers.find('2')?.isShown, true)
})

test('a cluster can be tapped over its whole drawn width', () => {
  const markers = placed([parkedJson('1'), parkedJson('2')])
  const [pill] = markers.pills
  if (pill !== undefined) pill.halfWidthPx = 60
  assert.equal(pillAt(markers, 455, 310), pill)
  assert.equal(pillAt(markers, 465, 310), null)
})

test('a position hidden by a panel on the map is not in view', () => {
  assert.equal(isInView({ px: 400, py: 300 }, screen()), true)
  assert.equal(isInView({ px: 400, py: 110 }, screen()), false)
})

test('two signs at one position are drawn side by side', () => {
  const markers = placed([at(cartJson('16'), 0, 0), at(cartJson('17'), 6, 4)])
  const spots = markers.all.map(({ cart, px, py, isShown }) => [cart.cart, Math.round(px), Math.round(py), isShown])
  assert.deepEqual(spots, [
    ['16', 386, 296, true],
    ['17', 420, 296, true],
  ])
})

test('signs that would hide a number are counted by the topmost one, unless one is selected or they are dots', () => {
  const carts = [at(cartJson('16'), 0, 0), at(cartJson('17'), 6, 0), at(cartJson('18', { is_low: true }), 0, 8)]
  const shown = (markers: Markers) =>
    markers.all.flatMap(({ cart, isShown, below }) => (isShown ? [[cart.cart, below]] : []))
  assert.deepEqual(shown(placed(carts)), [['18', 2]])
  assert.equal(shown(placed(carts, screen(), '16')).length, 3)
  assert.equal(shown(placed(carts, screen({ isFar: true }))).length, 3)
})

test('a cart on the sign of a cluster is drawn above it', () => {
  const on = [parkedJson('1'), parkedJson('2'), at(cartJson('3', { state: 'silent' }), 0, 0)]
  const markers = placed(on)
  assert.ok((markers.find('3')?.py ?? 0) < ([...markers.pills][0]?.py ?? 0) - 30)
})

test('a tap on overlapping markers finds both carts', () => {
  const markers = placed([at(cartJson('16'), 0, 0), at(cartJson('17'), 6, 0), at(cartJson('18'), 200, 0)])
  const near = markersAt(markers, 406, 300).map(({ cart }) => cart.cart)
  assert.deepEqual(near, ['17', '16'])
  assert.deepEqual(markersAt(markers, 300, 100), [])
})
