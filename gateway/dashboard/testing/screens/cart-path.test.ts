import assert from 'node:assert/strict'
import { dayPath } from '#dashboard/live/replay/day-address.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { PLACES, toLatLong } from '../places.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'

const stage = createStage({
  prepare: async ({ course, gateway }) => {
    const cart = await course.cart('7')
    await course.cart('8')
    await gateway.request('POST', '/groups', { body: { name: 'All', group_id: 1 } })
    for (const number of ['7', '8']) await gateway.request('PUT', `/groups/1/devices/teebox-${number}`)
    await cart.drives('fairway')
    const { body } = await gateway.request('GET', '/zones')
    await gateway.request('PUT', '/zones', {
      body: { type: 'FeatureCollection', features: [...body.features, fairway(1), fairway(2), fairway(12)] },
      headers: { 'if-match': '*' },
    })
  },
})

/** Creates a zone that is off by default; that of the first hole is where a cart drives. */
function fairway(hole: number) {
  const { eastM, northM } = PLACES.fairway
  const { lat, long } = toLatLong({ eastM: eastM + (hole - 1) * 200, northM })
  return {
    type: 'Feature',
    id: `fairway-${hole}`,
    geometry: { type: 'Point', coordinates: [long, lat] },
    properties: { name: `Fairway ${hole}`, type: 'alert', hole, enabled: false, radius_m: 90 },
  }
}

async function zonesOf({ gateway }: Scene): Promise<ZonesJson['features']> {
  return (await gateway.request('GET', '/zones')).body.features
}

async function endAll({ gateway }: Scene): Promise<void> {
  const zone_ids = [1, 2, 12].map((hole) => `fairway-${hole}`)
  await gateway.request('POST', '/zones/switch', { body: { zone_ids, enabled: false, until: null } })
}

stage.eachSetup('one tap on a hole keeps carts on its path, another ends it', async (scene) => {
  const { page, open, audit, gateway } = scene
  await endAll(scene)
  await open('/app/#/more/cart-path')
  const hole = (number: number, word: string) =>
    page.getByRole('button', { name: new RegExp(`^Hole ${number} ${word}`) })
  await hole(1, 'Open').click()
  await hole(1, 'Path only').waitFor()
  await hole(12, 'Open').click()
  await hole(12, 'Path only').waitFor()
  await page
    .getByText('None so far.')
    .or(page.getByRole('link', { name: 'Track of cart 7' }).first())
    .waitFor()
  await page
    .getByText(/Received by \d of 2 carts|Received by all 2 carts/)
    .first()
    .waitFor()
  await audit()
  const on = (await zonesOf(scene)).filter(({ properties }) => properties.switched !== null && properties.enabled)
  assert.deepEqual(on.map(({ id }) => id).sort(), ['fairway-1', 'fairway-12'])
  await page.getByRole('link', { name: 'Map', exact: true }).click()
  await page.getByRole('link', { name: 'Cart path only: 1, 12' }).click()
  await hole(1, 'Path only').click()
  await hole(1, 'Open').waitFor()
  await page.getByRole('button', { name: 'All holes', exact: true }).click()
  await hole(2, 'Path only').waitFor()
  await page.getByRole('button', { name: 'Lift on all holes' }).click()
  await hole(2, 'Open').waitFor()
  const { body } = await gateway.request('GET', '/zones')
  assert.ok(
    !body.features.some(
      ({ id, properties }: { id: string; properties: { enabled: boolean } }) =>
        id.startsWith('fairway') && properties.enabled,
    ),
  )
})

stage.test('carts on the fairway are listed with the time and duration', async (scene) => {
  const { page, open, course, gateway } = scene
  await endAll(scene)
  await open('/app/#/more/cart-path')
  await page.getByRole('button', { name: /^Hole 1 Open/ }).click()
  await page.getByRole('button', { name: /^Hole 1 Path only/ }).waitFor()
  const cart = await course.cart('9')
  await cart.drives('fairway')
  await course.becomes('9', ({ zones }) => zones.some(({ zone_id }) => zone_id === 'fairway-1'), 'on the fairway')
  const row = page.getByRole('link', { name: 'Track of cart 9' })
  await row.getByText(/still there/).waitFor({ timeout: 30_000 })
  const moment = Number(/%40(\d+)$/.exec((await row.getAttribute('href')) ?? '')?.[1])
  const exempt = { zone_types: ['alert'], why: 'Flag' }
  const { status } = await gateway.request('PATCH', '/carts/9', { body: { exempt } })
  assert.equal(status, 200)
  await row.waitFor({ state: 'detached' })
  // the track starts with the violation
  await open(
    `/app/#/more/${encodeURIComponent(dayPath('9', new Date(moment).toISOString().slice(0, 10), moment))}`,
    null,
  )
  const slider = page.getByRole('slider', { name: 'Time' })
  await slider.waitFor()
  assert.equal(await slider.getAttribute('aria-valuetext'), new Date(moment).toISOString().slice(11, 19))
})

stage.eachSetup('a cart is let drive where others may not, and not any more', async (scene) => {
  const { page, open, audit, gateway } = scene
  await gateway.request('PATCH', '/carts/8', { body: { exempt: null } })
  await open('/app/#/map/8')
  await page.getByText('More actions').click()
  await page.getByRole('button', { name: 'Grant access' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('checkbox', { name: 'slow zones' }).check()
  await dialog.getByLabel('Reason').fill('Flag 31')
  await audit()
  await dialog.getByRole('button', { name: 'Allow' }).click()
  await page.getByText(/Allowed in .*Flag 31/).waitFor()
  const { body } = await gateway.request('GET', '/carts/8')
  assert.deepEqual(body.exempt.zone_types, ['alert', 'stop', 'slow'])
  await audit()
  await page.getByRole('button', { name: 'End access' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End' }).click()
  await eventually(
    async () => (await gateway.request('GET', '/carts/8')).body.exempt === null,
    'cart 8 keeps to the rules',
  )
})

stage.test('drivers of carts that cannot apply zones are sent a message', async ({ page, open, audit, gateway }) => {
  const body = { hardware_id: 'screen-5', device_type: 'cartcaddie', cart: '5' }
  await gateway.request('POST', '/devices', { body })
  await open('/app/#/more/cart-path')
  await page.getByText('Zones not supported; inform the drivers of:').waitFor()
  await page.getByRole('button', { name: 'Message to cart 5' }).click()
  await audit()
  await page.getByRole('textbox', { name: 'Other text' }).fill('Keep to the path, please.')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('0 of 1 has read it.').waitFor()
  await eventually(async () => {
    const sent = await gateway.request('GET', '/devices/screen-5/commands')
    return sent.body.commands[0]?.params.text === 'Keep to the path, please.'
  }, 'the screen receives it')
})
