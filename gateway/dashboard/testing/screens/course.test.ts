import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'
import { png } from '#shared/testing/images.ts'
import { PLACES, type Place, toLatLong } from '../places.ts'
import type { Scene } from '../scene.ts'
import { createStage } from '../stage.ts'

const stage = createStage({
  prepare: async ({ course }) => {
    const cart = await course.cart('4')
    await cart.drives('fairway')
    await course.becomes('4', ({ state }) => state === 'out', 'out')
  },
})

const at = ({ eastM, northM }: Place): [number, number] => {
  const { lat, long } = toLatLong({ eastM, northM })
  return [long, lat]
}

function square({ eastM, northM }: Place, halfM: number): [number, number][] {
  return [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
  ].map(([x = 0, y = 0]) => at({ eastM: eastM + x * halfM, northM: northM + y * halfM }))
}

const feature = (properties: object, type: string, coordinates: unknown, id?: string) => ({
  type: 'Feature',
  id,
  properties,
  geometry: { type, coordinates },
})
const EXPORT = {
  type: 'FeatureCollection',
  generator: 'overpass-turbo',
  features: [
    feature({ golf: 'hole', ref: '1' }, 'LineString', [at(PLACES.barn), at(PLACES.green)], 'way/1'),
    feature({ golf: 'green' }, 'Polygon', [square(PLACES.green, 12)]),
    feature({ golf: 'fairway' }, 'Polygon', [square(PLACES.fairway, 30)]),
    ...[0, 1, 2].map((i) => feature({ golf: 'bunker' }, 'Polygon', [square({ eastM: 90 + 20 * i, northM: 90 }, 4)])),
    feature({ natural: 'water' }, 'Polygon', [square({ eastM: 200, northM: 200 }, 40)]),
  ],
}

const fileOf = (name: string, content: string | Buffer, mimeType: string) => ({
  name,
  mimeType,
  buffer: Buffer.from(content),
})
const geojson = (value: unknown) =>
  fileOf('export.geojson', typeof value === 'string' ? value : JSON.stringify(value), 'application/geo+json')

const empty = ({ gateway }: Scene) =>
  Promise.all([gateway.request('DELETE', '/course'), gateway.request('DELETE', '/course/photo')])
const chooseFile = (page: Page, label: string, file: ReturnType<typeof fileOf>) =>
  page.getByLabel(label, { exact: true }).setInputFiles(file)
const COUNTS = '1 hole, 1 green, 3 bunkers, 1 fairway, 1 water area'

stage.eachSetup('a file is previewed, saved, shown on the map with its credit, and removed', async (scene) => {
  const { page, open, audit, gateway } = scene
  await empty(scene)
  await open('/app/#/more/course', 'admin')
  await page.getByText('No course map yet.').waitFor()
  await audit()
  await chooseFile(page, 'Choose a file', geojson('{"type": "Feature'))
  await page.getByText('Not a GeoJSON file.').waitFor()
  await chooseFile(page, 'Choose a file', geojson(EXPORT))
  await page.getByText('export.geojson, not saved').waitFor()
  await page.getByText(COUNTS).waitFor()
  assert.equal((await gateway.request('GET', '/course')).body.features.length, 0, 'nothing is saved yet')
  await audit()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved. Shown on all maps.').waitFor()
  await page.getByText(COUNTS).waitFor()
  await audit()
  await page.getByRole('link', { name: 'Back to map' }).click()
  await page.getByText('© OpenStreetMap contributors').waitFor()
  await audit()
  await open('/app/#/more/course', null)
  await page.getByRole('button', { name: 'Remove map data' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove map data' }).click()
  await page.getByText('No course map yet.').waitFor()
})

stage.test('every rejected course file gets a reason', async (scene) => {
  const { page, open } = scene
  await empty(scene)
  await open('/app/#/more/course', 'admin')
  await page.getByText('No course map yet.').waitFor()
  const metres = {
    ...EXPORT,
    features: [
      feature({ golf: 'green' }, 'Polygon', [
        [
          [6e5, 5e6],
          [1, 1],
          [2, 2],
        ],
      ]),
    ],
  }
  for (const [value, words] of [
    [[], 'Not a GeoJSON file.'],
    [{ ...EXPORT, features: [] }, 'No golf features found'],
    [metres, 'Export as WGS 84.'],
    [{ ...EXPORT, features: [feature({ golf: 'tee' }, 'Polygon', 'x')] }, 'The file is damaged'],
  ] as const) {
    await chooseFile(page, 'Choose a file', geojson(value))
    await page.getByText(words).waitFor()
  }
})

stage.test('another tablet with an open map shows a new course map automatically', async (scene) => {
  await empty(scene)
  const map = await scene.other()
  await map.open('/app/', 'staff')
  await map.page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await scene.gateway.request('PUT', '/course', { body: EXPORT })
  await map.page.getByText('© OpenStreetMap contributors').waitFor()
})

/** Creates a photo with a bright spot in the browser. */
async function photo(page: Page): Promise<Buffer> {
  const base64 = await page.evaluate(`(() => {
    const canvas = document.createElement('canvas')
    canvas.width = 800
    canvas.height = 600
    const context = canvas.getContext('2d')
    context.fillStyle = '#507030'
    context.fillRect(0, 0, 800, 600)
    return canvas.toDataURL('image/jpeg').split(',')[1]
  })()`)
  return Buffer.from(String(base64), 'base64')
}

stage.eachSetup('a photo is placed by a touch on the map and by a cart, and saved', async (scene) => {
  const { page, open, audit, gateway } = scene
  await empty(scene)
  await open('/app/#/more/course', 'admin')
  const image = page.getByRole('img', { name: 'Photo to place' })
  await chooseFile(page, 'Choose photo', fileOf('photo.jpg', await photo(page), 'image/jpeg'))
  await image.click({ position: { x: 20, y: 20 } })
  await page.getByText('Point 1: now tap the same spot on the map.').waitFor()
  await audit()
  await page.getByRole('application').click({ position: { x: 60, y: 60 } })
  await page.getByText(/^Point 2: tap a spot/).waitFor()
  await image.click({ position: { x: 150, y: 120 } })
  await page.getByLabel('Or use a cart parked there').selectOption('4')
  await page.getByText('Add more points for a better fit.').waitFor()
  await audit()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('An aerial photo lies under the map.').waitFor()
  const placed = (await gateway.request('GET', '/course')).body.photo
  assert.equal(placed.content_type, 'image/jpeg')
  assert.equal(placed.corners.length, 4)
  const loaded = page.waitForResponse((response) => response.url().endsWith('/course/photo'))
  await page.getByRole('link', { name: 'Back to map' }).click()
  assert.equal((await loaded).status(), 200)
  await open('/app/#/more/course', null)
  await page.getByRole('button', { name: 'Remove photo' }).click()
  const isGone = async () => (await gateway.request('GET', '/course')).body.photo === null
  await eventually(isGone, 'the photo is gone')
})

stage.test('a file that is not a photo, and one of a hundred megapixels, are rejected with a reason', async (scene) => {
  const { page, open } = scene
  await open('/app/#/more/course', 'admin')
  await chooseFile(page, 'Choose photo', fileOf('photo.jpg', '<svg/>', 'image/jpeg'))
  await page.getByText('Not a readable image.').waitFor()
  const large = Buffer.from(await png({ widthPx: 10_000, heightPx: 10_000 }).arrayBuffer())
  await chooseFile(page, 'Choose photo', fileOf('photo.png', large, 'image/png'))
  await page.getByText('Image too large: 50 megapixels at most.').waitFor()
})
