import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { answered } from '../page-faults.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'

const stage = createStage({
  prepare: async ({ course }) => {
    await course.carts(17, 18)
    const out = await course.cart('4')
    await out.drives('fairway')
    await course.becomes('4', ({ state }) => state === 'out', 'out')
    await course.becomes('18', ({ state }) => state === 'in', 'in')
  },
})

stage.eachSetup('a cart is found by its number, and counters narrow map and list', async (scene) => {
  const { page, open, audit } = scene
  await open()
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.getByRole('button', { name: /^1 On course$/ }).waitFor()
  await audit()
  await page.getByRole('searchbox', { name: 'Cart number' }).fill('1')
  await page.getByRole('option', { name: /18/ }).waitFor()
  await audit()
  await page.getByRole('searchbox', { name: 'Cart number' }).fill('17')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Cart 17' }).waitFor()
  assert.match(page.url(), /#\/map\/17$/)
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.getByRole('button', { name: /In barn/, pressed: false }).click()
  await page.getByRole('heading', { name: 'In barn' }).waitFor()
  assert.deepEqual(await page.getByRole('list', { name: 'In barn' }).getByRole('listitem').count(), 2)
  await audit()
  await page.getByRole('button', { name: /In barn/, pressed: true }).click()
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
})

stage.test('a tap on a cluster opens it, and one on a cart shows its card', async ({ page, open }) => {
  // a cart in a cluster is brought to the centre
  await open('/app/#/map/17')
  await page.getByRole('heading', { name: 'Cart 17' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  const card = page.getByRole('heading', { name: /^Cart 1[78]$/ })
  const isOpened = async () => {
    await touchMiddle(page)
    // two quick taps would zoom
    return card.waitFor({ timeout: 1500 }).then(
      () => true,
      () => false,
    )
  }
  await eventually(isOpened, 'the card of a touched cart', 30_000)
})

stage.test('a cart stays under a finger that drags the map, without a redraw each time', async (scene) => {
  const { page, open } = scene
  await open('/app/#/map/4')
  await page.getByRole('heading', { name: 'Cart 4' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  const middle = await middleOf(page)
  await eventually(async () => (await signNear(page, middle)) !== null, 'the sign of the cart')
  let finger = (await signNear(page, middle)) ?? middle
  await page.evaluate(COUNT_DRAWINGS)
  await page.mouse.move(finger.x - 1.5, finger.y)
  await page.mouse.down()
  // the map is dragged from the end of the first movement
  await page.mouse.move(finger.x, finger.y)
  for (let move = 0; move < MOVES; move++) {
    // fingers are between pixels
    finger = { x: finger.x + 4.3, y: finger.y - 2.7 }
    await page.mouse.move(finger.x, finger.y)
    const sign = await signNear(page, finger)
    const awayPx = sign === null ? Number.NaN : Math.hypot(sign.x - finger.x, sign.y - finger.y)
    assert.ok(awayPx < 3, `${awayPx} pixels away`)
  }
  await page.mouse.up()
  const drawings = Number(await page.evaluate('globalThis.drawings'))
  assert.ok(drawings > 0 && drawings < MOVES / 2, `${drawings} times for ${MOVES} moves`)
  await page.mouse.click(finger.x, finger.y)
  await page.getByRole('heading', { name: 'Cart 4' }).waitFor()
})

stage.test('a user sees the map and no counters', async ({ page, open, audit }) => {
  await open('/app/#/map', 'user')
  await page.getByRole('application', { name: 'Map of the course' }).waitFor()
  await page.getByRole('button', { name: 'Whole course' }).click()
  assert.equal(await page.getByRole('button', { name: /On course/ }).count(), 0)
  assert.equal(await page.getByRole('heading', { name: 'Needs attention' }).count(), 0)
  await audit()
})

stage.eachSetup('the barn is put where the map shows it, beside all other zones', async (scene) => {
  const { page, open, audit } = scene
  const before = await zonesOf(scene)
  await open('/app/#/more/barn', 'admin')
  await page.getByRole('button', { name: 'Place barn here' }).click()
  await page.getByRole('button', { name: 'Larger' }).click()
  await audit()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Saved').waitFor()
  await audit()
  const after = await zonesOf(scene)
  const barn = after.features.find(({ id }) => id === 'barn')
  assert.equal(barn?.geometry.type, 'Point')
  assert.equal(barn?.properties.type, 'parking')
  const others = ({ features }: ZonesJson) => features.filter(({ id }) => id !== 'barn')
  assert.deepEqual(others(after), others(before))
})

stage.test('the circle of the barn is moved by its inside, and resized by its edge', async (scene) => {
  const { page, open } = scene
  const saved = async () => {
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('status').getByText('Saved').waitFor()
    const barn = (await zonesOf(scene)).features.find(({ id }) => id === 'barn')
    assert.ok(barn?.geometry.type === 'Point')
    return { coordinates: barn.geometry.coordinates, radiusM: barn.properties.radius_m ?? 0 }
  }
  await open('/app/#/more/barn', 'admin')
  await page.getByRole('button', { name: 'Place barn here' }).click()
  const first = await saved()
  const area = await page.locator('.split-map').boundingBox()
  assert.ok(area !== null)
  const [x, y] = [area.x + area.width / 2, area.y + area.height / 2]
  await drag(page, { x, y }, { x: x + 40, y })
  const moved = await saved()
  assert.equal(moved.radiusM, first.radiusM)
  assert.notDeepEqual(moved.coordinates, first.coordinates)
  // from the centre outwards, until the drag hits the resizable edge
  const edgePx = await edgeOf(page, moved.radiusM)
  await drag(page, { x: x + 40 + edgePx, y }, { x: x + 40 + edgePx * 1.5, y })
  const sized = await saved()
  assert.deepEqual(sized.coordinates, moved.coordinates)
  assert.ok(Math.abs(sized.radiusM / moved.radiusM - 1.5) < 0.1, `${sized.radiusM} of ${moved.radiusM}`)
})

stage.test('zones changed by another user are loaded again, once', async (scene) => {
  const { page, open, faults } = scene
  faults.forgive(answered(412))
  let changes = 0
  await page.route('**/zones', async (route) => {
    if (route.request().method() === 'PUT' && changes++ !== 1) await changeZones(scene)
    await route.continue()
  })
  await open('/app/#/more/barn', 'admin')
  await page.getByRole('button', { name: 'Place barn here' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Saved').waitFor()
  assert.equal(changes, 2)
  await page.unroute('**/zones')
  await page.route('**/zones', async (route) => {
    if (route.request().method() === 'PUT') await changeZones(scene)
    await route.continue()
  })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Someone else is editing the zones').waitFor()
})

stage.test('staff see the barn, and that an admin sets it', async ({ page, open }) => {
  await open('/app/#/more/barn', 'staff')
  await page.getByText('Admins only.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Place barn here' }).count(), 0)
})

async function drag(page: Page, from: Spot, to: Spot): Promise<void> {
  await page.mouse.move(from.x, from.y)
  await page.mouse.down()
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2)
  await page.mouse.move(to.x, to.y)
  await page.mouse.up()
}

interface Spot {
  x: number
  y: number
}

/** Converts a length to pixels by the map's scale bar. */
async function edgeOf(page: Page, metres: number): Promise<number> {
  const scale = page.locator('.map-scale')
  const metresShown = Number.parseInt((await scale.innerText()).replace(/^N\s*/, ''), 10)
  const bar = await scale.locator('svg').last().boundingBox()
  assert.ok(bar !== null)
  // four pixels of the picture do not belong to the bar
  return (metres / metresShown) * (bar.width - 4)
}

const MOVES = 40
const COUNT_DRAWINGS = `{
  globalThis.drawings = 0
  const clear = CanvasRenderingContext2D.prototype.clearRect
  CanvasRenderingContext2D.prototype.clearRect = function (...args) {
    if (this.canvas.classList.contains('cart-sheet')) globalThis.drawings += 1
    clear.apply(this, args)
  }
}`

/** Returns the centre of the painted cart pixels within 60 pixels of a spot; null without any. */
async function signNear(page: Page, { x, y }: Spot): Promise<Spot | null> {
  const sign = await page.evaluate(`{
    const canvas = document.querySelector('.cart-canvas')
    const { left, top } = canvas.getBoundingClientRect()
    const [x, y] = [Math.round(${x} - left) - 60, Math.round(${y} - top) - 60]
    const { data } = canvas.getContext('2d').getImageData(x, y, 120, 120)
    const sum = { count: 0, x: 0, y: 0 }
    for (let at = 0; at < 120 * 120; at++) {
      if (data[at * 4 + 3] < 128) continue
      sum.count += 1
      sum.x += at % 120
      sum.y += Math.floor(at / 120)
    }
    const { count } = sum
    count === 0 ? null : { x: left + x + sum.x / count + 0.5, y: top + y + sum.y / count + 0.5 }
  }`)
  return sign as Spot | null
}

async function touchMiddle(page: Page): Promise<void> {
  const { x, y } = await middleOf(page)
  await page.mouse.click(x, y)
}

/** Returns the spot of a cart that was brought into view: between the elements on the map and its lower edge. */
async function middleOf(page: Page): Promise<Spot> {
  const [area, top] = await Promise.all([
    page.locator('.map-area').boundingBox(),
    page.locator('.map-top').boundingBox(),
  ])
  assert.ok(area !== null && top !== null)
  const upper = top.y + top.height
  return { x: area.x + area.width / 2, y: (upper + area.y + area.height) / 2 }
}

async function zonesOf({ gateway }: Scene): Promise<ZonesJson> {
  return (await gateway.request('GET', '/zones')).body
}

/** Changes a zone as another user: a new name, and so a new version. */
async function changeZones(scene: Scene): Promise<void> {
  const { features } = await zonesOf(scene)
  const renamed = features.map((zone) =>
    zone.id === 'green-1' ? { ...zone, properties: { ...zone.properties, name: `${zone.properties.name}+` } } : zone,
  )
  const body = { type: 'FeatureCollection', features: renamed }
  const { status } = await scene.gateway.request('PUT', '/zones', { body, headers: { 'if-match': '*' } })
  assert.equal(status, 200)
}

stage.test('lock and beep are in reach on small phones, and a phone held sideways shows a day', async (scene) => {
  const { page, open } = scene
  for (const [width, height] of [
    [390, 844],
    [360, 740],
  ] as const) {
    await page.setViewportSize({ width, height })
    await open('/app/#/map/4')
    const rail = await page.getByRole('navigation').first().boundingBox()
    for (const name of ['Lock', 'Unlock', 'Beep']) {
      const button = page.getByRole('button', { name, exact: true })
      await button.waitFor()
      const box = await button.boundingBox()
      assert.ok(box !== null && rail !== null && box.y + box.height <= rail.y, `${name} at ${width}x${height}`)
    }
  }
  await page.setViewportSize({ width: 844, height: 390 })
  await open('/app/#/more/day%2F4')
  const map = page.locator('.day-main .split-map')
  await map.waitFor()
  assert.ok(((await map.boundingBox())?.height ?? 0) >= 200)
  const isReached = await page.evaluate(
    "(() => { const rail = document.querySelector('.rail'); rail.scrollTop = 1e6; return " +
      'rail.lastElementChild.getBoundingClientRect().bottom <= innerHeight })()',
  )
  assert.equal(isReached, true, 'the foot of the rail')
})

stage.test('a barn far from every cart needs a confirmation, and coordinates can be typed', async (scene) => {
  const { page, open } = scene
  const before = await zonesOf(scene)
  await open('/app/#/more/barn', 'admin')
  const typed = page.getByLabel('Or enter coordinates')
  await typed.fill('nowhere')
  await page.getByRole('button', { name: 'Show on map' }).click()
  await page.getByText('Not valid coordinates.').waitFor()
  await typed.fill('52.5007, 13.1246')
  await page.getByRole('button', { name: 'Show on map' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page
    .getByRole('dialog', { name: /^The barn is .* from cart \d+\. Really\?$/ })
    .getByRole('button', { name: 'Cancel' })
    .click()
  assert.deepEqual(await zonesOf(scene), before)
})
