import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { toE7 } from '#shared/geo.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { distanceM } from '#shared/zones/geometry.ts'
import { confirmClock } from '#testing/course/barn.ts'
import { answered, LINE_GONE } from '../page-faults.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'

// a banner above the map, here the question about the time, would push it down below a finger
const stage = createStage({ prepare: ({ gateway }) => confirmClock(gateway, Date.now()) })

async function zonesOf({ gateway }: Scene): Promise<ZonesJson['features']> {
  return (await gateway.request('GET', '/zones')).body.features
}

let drawn: ZonesJson['features'] | undefined

/** Restores the zones of the course before every test. */
async function reset(scene: Scene): Promise<void> {
  drawn ??= await zonesOf(scene)
  const body = { type: 'FeatureCollection', features: drawn }
  await scene.gateway.request('PUT', '/zones', { body, headers: { 'if-match': '*' } })
}

/** Returns the centre of the map, from which places are counted in pixels. */
async function middleOf(page: Page): Promise<[x: number, y: number]> {
  const box = await page.getByRole('application', { name: 'Map of the course' }).boundingBox()
  assert.ok(box !== null)
  return [box.x + box.width / 2, box.y + box.height / 2]
}

const CORNERS = [
  [-70, -60],
  [70, -60],
  [70, 60],
  [0, 20],
  [-70, 60],
] as const

/** Taps these corners, one after the other, and closes the ring. */
async function draw(page: Page): Promise<[x: number, y: number]> {
  // before that, the banner of a missing connection may be above the map
  await page.getByText('● Live').waitFor({ state: 'attached' })
  await page.locator('.line-banner').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'New area' }).click()
  const [x, y] = await middleOf(page)
  for (const [i, [right, down]] of CORNERS.entries()) {
    await page.mouse.click(x + right, y + down)
    await page
      .getByRole('status')
      .getByText(i === 0 ? '1 corner' : `${i + 1} corners`)
      .waitFor()
  }
  await page.getByRole('button', { name: 'Done' }).click()
  return [x, y]
}

stage.eachSetup('a zone is drawn, a corner is moved, one is added and one removed, and it is saved', async (scene) => {
  const { page, open, audit } = scene
  await reset(scene)
  await open('/app/#/more/zones', 'admin')
  await page.getByRole('heading', { name: '5 zones' }).waitFor()
  await audit()
  const [x, y] = await draw(page)
  await page.getByLabel('Name').fill('Wet ground')
  await page.getByLabel('Type').selectOption({ label: 'Alert' })
  await page.getByLabel(/^Hole/).fill('3')
  await page.getByRole('checkbox', { name: 'On', exact: true }).uncheck()
  await audit()
  await page.mouse.move(x + 70, y - 60)
  await page.mouse.down()
  await page.mouse.move(x + 80, y - 70, { steps: 4 })
  await page.mouse.up()
  // between the first two corners
  await page.mouse.move(x + 5, y - 65)
  await page.mouse.down()
  await page.mouse.move(x, y - 90, { steps: 4 })
  await page.mouse.up()
  await page.mouse.click(x, y + 20)
  await page.getByRole('button', { name: 'Remove corner' }).click()
  await page.getByRole('button', { name: 'All zones' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. Sending to carts.').waitFor()
  await audit()
  const zone = (await zonesOf(scene)).find(({ properties }) => properties.name === 'Wet ground')
  assert.ok(zone?.geometry.type === 'Polygon')
  const { type, hole, enabled } = zone.properties
  const ring = zone.geometry.coordinates[0] ?? []
  assert.deepEqual([type, hole, enabled, ring.length], ['alert', 3, false, 6])
  // quick taps on corners do not zoom the map
  const sides = metresOf(ring[4], ring[0]) / metresOf(ring[3], ring[4])
  assert.ok(Math.abs(sides - 120 / 140) < 0.01, `${sides}`)
})

function metresOf([long, lat]: readonly number[] = [], [toLong, toLat]: readonly number[] = []): number {
  assert.ok(long !== undefined && lat !== undefined && toLong !== undefined && toLat !== undefined)
  const to = { latE7: toE7(toLat), longE7: toE7(toLong) }
  return distanceM({ latE7: toE7(lat), longE7: toE7(long) }, to)
}

stage.test('a change that the gateway would reject is reported before saving, and can be undone', async (scene) => {
  const { page, open } = scene
  await reset(scene)
  await open('/app/#/more/zones', 'admin')
  const [x, y] = await draw(page)
  await page.mouse.move(x - 70, y - 60)
  await page.mouse.down()
  await page.mouse.move(x + 200, y - 20, { steps: 4 })
  await page.mouse.up()
  await page.getByLabel(/^Hole/).fill('120')
  await page.getByRole('button', { name: 'All zones' }).click()
  await page.getByText('New zone has a hole number outside 1 to 99.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled())
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('New zone has crossing lines.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. Sending to carts.').waitFor()
})

stage.test('two users change one zone: the second sees the first change, and keeps both', async (scene) => {
  const { page, open, audit, gateway, faults } = scene
  faults.forgive(answered(412))
  await reset(scene)
  await open('/app/#/more/zones', 'admin')
  await draw(page)
  await page.getByLabel('Name').fill('Mine')
  await page.getByRole('button', { name: 'All zones' }).click()
  await page.getByRole('button', { name: /Green 1/ }).click()
  await page.getByLabel('Name').fill('Green one')
  await page.getByRole('button', { name: 'All zones' }).click()
  const features = (await zonesOf(scene)).map((zone) =>
    zone.id === 'green-1' ? { ...zone, properties: { ...zone.properties, name: 'Theirs' } } : zone,
  )
  await gateway.request('PUT', '/zones', {
    body: { type: 'FeatureCollection', features: features.filter(({ id }) => id !== 'hole-2') },
    headers: { 'if-match': '*' },
  })
  const conflict = page.getByRole('alert').filter({ hasText: 'Someone else changed the zones' })
  await conflict.waitFor()
  await conflict.getByText('Mine: you added it').waitFor()
  await conflict.getByText('Theirs: you changed it, they changed it').waitFor()
  await conflict.getByText('Hole 2: they deleted it').waitFor()
  await audit()
  await conflict.getByRole('button', { name: 'Keep mine' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. Sending to carts.').waitFor()
  const names = (await zonesOf(scene)).map(({ properties }) => properties.name)
  assert.deepEqual(names, ['Barn', 'Course', 'Hole 1', 'Green one', 'Mine'])
})

stage.test('a drawing survives a lost connection and a reload of the page', async (scene) => {
  const { page, open, link, faults } = scene
  faults.forgive(LINE_GONE)
  await reset(scene)
  await open('/app/#/more/zones', 'admin')
  await draw(page)
  await page.getByLabel('Name').fill('Kept')
  await page.getByRole('button', { name: 'All zones' }).click()
  link.cut()
  await page.getByText(/No connection for/).waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('No reply from the gateway.').waitFor()
  link.restore()
  await page.getByText(/No connection for/).waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. Sending to carts.').waitFor()
  assert.ok((await zonesOf(scene)).some(({ properties }) => properties.name === 'Kept'))
})

stage.eachSetup('an earlier set is restored with one tap and a confirmation; staff can only read it', async (scene) => {
  const { page, open, audit, gateway, other } = scene
  await reset(scene)
  const body = { type: 'FeatureCollection', features: [] }
  await gateway.request('PUT', '/zones', { body, headers: { 'if-match': '*' } })
  await open('/app/#/more/zones', 'admin')
  await page.getByRole('heading', { name: '0 zones' }).waitFor()
  await page.getByRole('button', { name: 'History' }).click()
  const dialog = page.getByRole('dialog')
  await audit()
  await dialog
    .getByRole('button', { name: /5 zones/ })
    .first()
    .click()
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('heading', { name: '5 zones' }).waitFor()
  const staff = await other()
  await staff.open('/app/#/more/zones', 'staff')
  await staff.page.getByRole('button', { name: /Green 1/ }).click()
  assert.ok(await staff.page.getByLabel('Name').isDisabled())
  assert.equal(await staff.page.getByRole('button', { name: /Delete|Remove|Undo/ }).count(), 0)
  await staff.audit()
})
