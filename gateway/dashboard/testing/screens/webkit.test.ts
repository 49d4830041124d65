import { after, before, test } from 'node:test'
import { z } from 'zod'
import { eventually } from '#shared/testing/eventually.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { skipReason } from '../programs.ts'
import type { StagedCart } from '../staged-cart.ts'
import { TestSite } from '../test-site.ts'
import { findWebKit, WebKit } from '../webkit.ts'

const skip = skipReason(findWebKit() === undefined ? 'WebKit is not installed' : undefined)

// sequential, on one tablet
let site: TestSite
let webKit: WebKit
let cart17: StagedCart

if (skip === false) {
  before(async () => {
    site = await TestSite.start({
      prepare: async ({ course }) => {
        cart17 = await course.cart('17')
      },
    })
    webKit = await WebKit.start()
  })
  after(async () => {
    await webKit?.stop()
    await site?.stop()
  })
}

test('WebKit signs in', { skip }, async () => {
  await webKit.go(`${site.link.url}/app/`)
  await webKit.type('textbox', 'Key', ADMIN_KEY)
  await webKit.click('button', 'Sign in')
  await webKit.waitFor('link', 'Map')
})

test('WebKit draws a cart, and a tap on it shows its card', { skip }, async () => {
  await webKit.waitFor('heading', 'Needs attention')
  const painted = async () => placeSchema.parse(await webKit.run(WHERE_IT_IS_PAINTED))
  // the map may still move between the measurement and the tap
  await eventually(async () => {
    const place = await painted()
    if (place !== null) await webKit.pressAt(...place)
    return webKit.has('heading', 'Cart 17')
  }, 'a touch on the painted cart shows its card')
})

test('WebKit unlocks and locks a cart, and shows when the cart confirms', { skip }, async () => {
  cart17.obedience = 'takes'
  for (const [action, isLocked] of [
    ['Unlock', false],
    ['Lock', true],
  ] as const) {
    await webKit.click('button', action)
    // a lock in the barn needs no question
    if (!isLocked) {
      await webKit.waitFor('heading', `${action} cart 17?`)
      await webKit.click('button', action)
    }
    await webKit.waitFor('status', 'Sent to the cart')
    await cart17.finish()
    await webKit.waitFor('status', 'Confirmed by the cart.')
    await site.course.becomes('17', ({ lock }) => lock?.is_locked === isLocked, action)
  }
})

test('WebKit shows a lost connection and its return', { skip }, async () => {
  site.link.cut()
  await webKit.waitFor('status', 'No connection for')
  site.link.restore()
  await webKit.waitUntilGone('status', 'No connection for')
})

const placeSchema = z.tuple([z.number(), z.number()]).nullable()

/** Returns the most painted square of 16 pixels of the carts' canvas: numbers of holes are thinner than a cart. */
const WHERE_IT_IS_PAINTED = `
  const canvas = document.querySelector('.cart-canvas')
  const { width, height } = canvas ?? { width: 0, height: 0 }
  if (width === 0) return null
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
  const columns = Math.ceil(width / 16)
  const painted = new Array(columns * Math.ceil(height / 16)).fill(0)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if (data[4 * (y * width + x) + 3] !== 0) painted[Math.floor(y / 16) * columns + Math.floor(x / 16)]++
  const most = Math.max(...painted)
  const square = painted.indexOf(most)
  const [x, y] = [(square % columns) * 16 + 8, Math.floor(square / columns) * 16 + 8]
  const area = canvas.getBoundingClientRect()
  return most === 0 ? null : [area.x + (x / width) * area.width, area.y + (y / height) * area.height]`
