import assert from 'node:assert/strict'
import { createStage } from '../stage.ts'

const stage = createStage()

stage.test('the barn cannot be placed while the position of the course is unknown', async (scene) => {
  const { page, open, gateway, course, audit } = scene
  await gateway.request('PUT', '/zones', {
    body: { type: 'FeatureCollection', features: [] },
    headers: { 'if-match': '*' },
  })
  await open('/app/#/more/barn', 'admin')
  const here = page.getByRole('button', { name: 'Place barn here' })
  await page.getByText('The position of the course is unknown.').waitFor()
  assert.equal(await here.isDisabled(), true)
  await page.mouse.move(300, 300)
  await page.mouse.down()
  await page.mouse.move(200, 200, { steps: 5 })
  await page.mouse.up()
  await page.waitForTimeout(1000)
  await audit()
  assert.equal(await here.isDisabled(), true, 'a map that was moved is still nowhere')
  await page.mouse.click(300, 300)
  assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0, 'a tap places no barn')
  const cart = await course.cart('7')
  await cart.drives('fairway')
  await page.getByLabel("Or use a cart's position").selectOption('7')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  const { features } = (await gateway.request('GET', '/zones')).body
  const [long, lat] = features[0].geometry.coordinates
  assert.ok(Math.abs(long) > 1 && Math.abs(lat) > 1, `${lat}, ${long}`)
})
