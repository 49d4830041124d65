import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { describeSettings } from '#gateway/config.ts'
import { renderDocsPage } from '#shared/http/docs/page.ts'
import { tourOf } from '#shared/http/docs/tour.ts'
import { publish, scene } from '#testing/scene.ts'
import { createDocsContent } from './documents/docs-content.ts'
import { TOUR } from './documents/docs-tour.ts'
import type { GatewayDocument } from './documents/openapi.ts'

const { g: gateway } = scene()
let document: GatewayDocument
let page: string
let headers: Headers

before(async () => {
  document = (await gateway.get('/openapi.json', { key: null })).body
  const answer = await gateway.get('/docs', { key: null })
  page = answer.body
  headers = answer.headers
})

test('the page needs no key, uses nothing from elsewhere, and may load nothing', () => {
  assert.match(headers.get('content-type') ?? '', /^text\/html/)
  assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/)
  assert.doesNotMatch(page, /\ssrc=|<link|@import|url\(/)
  for (const [, target = ''] of page.matchAll(/\shref="([^"]*)"/g)) assert.match(target, /^(#|\/openapi\.json$)/)
})

test('every link in the page has a target in the page', () => {
  const ids = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id))
  assert.equal(ids.size, [...page.matchAll(/\sid="/g)].length, 'an id stands twice')
  for (const [, id] of page.matchAll(/\shref="#([^"]*)"/g)) assert.ok(ids.has(id), id)
})

test('every operation and schema is in the page', () => {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  for (const { operationId } of operations) assert.ok(page.includes(`id="${operationId}"`), operationId)
  for (const name of Object.keys(document.components.schemas)) assert.ok(page.includes(`id="schema-${name}"`), name)
})

test('the filter finds every message, topic, setting and error code as a row of its chapter', () => {
  const listed = {
    realtime: document['x-realtime'].messages.map(({ type }) => type),
    mqtt: document['x-mqtt'].topics.map(({ topic }) => topic),
    settings: describeSettings().map(({ name }) => name),
    errors: Object.keys(document['x-error-codes']),
  }
  for (const [id, names] of Object.entries(listed)) {
    const [, chapter = ''] = page.split(`<section class="chapter" id="${id}">`)
    const [text = ''] = chapter.split('</section>')
    const rows = [...text.matchAll(/<tr>\s*<th scope="row"><code>(.*?)<\/code>/g)].map(([, name]) => name)
    assert.deepEqual(rows, names, id)
  }
})

test('commands use the address of the reader, and nothing else of a Host header', async () => {
  const at = async (host: string) => (await gateway.app.request(`http://${host}/docs`)).text()
  const local = await at('192.168.1.5:8080')
  assert.ok(local.includes('curl &quot;http://192.168.1.5:8080/devices&quot;'))
  assert.ok(local.includes('mosquitto_pub -h 192.168.1.5 '))
  assert.ok(local.includes('ws://192.168.1.5:8080/realtime'))
  assert.ok(!local.includes('this-host.invalid'))
  assert.ok(!(await at('a"onload="alert(1)')).includes('onload'))
  assert.ok(!(await at("a';id;'")).includes(';id;'))
})

test('the page is rendered for a few addresses only, however many are requested', async () => {
  const tags = new Set<string | null>()
  for (let i = 0; i < 30; i++) tags.add((await gateway.app.request(`http://host-${i}/docs`)).headers.get('etag'))
  assert.ok(tags.size <= 9, `${tags.size} pages`)
})

test('the page is sent once and is 304 by its ETag the next time', async () => {
  const etag = headers.get('etag') ?? ''
  assert.match(etag, /^"/)
  const again = await gateway.get('/docs', { key: null, headers: { 'if-none-match': etag } })
  assert.deepEqual([again.status, again.body], [304, ''])
})

test('user text in the document is plain text in the page', () => {
  const evil = structuredClone(document)
  for (const path of Object.values(evil.paths))
    for (const operation of Object.values(path)) {
      operation.summary = '<script>alert(1)</script>'
      operation.description = '`<img src=x>` **<b>**'
    }
  const text = renderDocsPage(evil, createDocsContent([]), 'http://x', { style: '', script: '' })
  assert.doesNotMatch(text, /<script>alert|<img|<b></)
})

test('each step of the tour works on a new gateway, in order', async () => {
  const steps = tourOf(TOUR, document)
  assert.ok(steps.length > 5)
  let password = ''
  for (const { title, actions } of steps)
    for (const action of actions) {
      if ('method' in action) {
        const { method, path, body } = action
        const answer = await gateway.request(method, path, { body })
        assert.ok(answer.status < 300, `${title}: ${method} ${path} ${answer.status} ${JSON.stringify(answer.body)}`)
        if (path === '/devices') password = answer.body.mqtt.password
      } else if ('publish' in action) {
        const { topic, payload } = action.publish
        const device = await gateway.connect('cart-07', password)
        await publish(device, topic, payload)
        await device.endAsync()
      }
    }
  const { attributes } = (await gateway.get('/devices/cart-07')).body
  assert.deepEqual([attributes.lat, attributes.long], [28.41, -81.58])
  assert.equal((await gateway.get('/lock-events?hardware_id=cart-07')).body.events.length, 1)
})

test('the tour offers only what the gateway can do', () => {
  const bare = tourOf(TOUR, { ...document, paths: {} })
  const actions = bare.flatMap((step) => step.actions)
  assert.ok(actions.every((action) => !('method' in action)))
  assert.ok(TOUR.steps.length > bare.length)
})
