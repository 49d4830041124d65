import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { mock, type TestContext, test } from 'node:test'
import { boxZone, zonesJson } from '#dashboard/testing/zones-json.ts'
import { ApiClient } from '#shared/client.ts'
import { eventually } from '#shared/testing/eventually.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { readZones, SiteZones } from './site-zones.ts'

const COURSE = boxZone('course', [-81.6, 28.4, -81.57, 28.42])

/** Starts site zones on scripted responses and messages of a gateway. */
async function startSite(t: TestContext) {
  const site = { zones: zonesJson(COURSE), isUp: true, reads: 0 }
  const server = createServer((_, response) => {
    site.reads += 1
    response.writeHead(site.isUp ? 200 : 503, {
      'content-type': 'application/json',
      etag: `"${site.zones.version}"`,
    })
    response.end(JSON.stringify(site.zones))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const listeners = new Set<(message: ServerMessage) => void>()
  const address = server.address()
  assert.ok(address !== null && typeof address !== 'string')
  const api = new ApiClient({ url: `http://127.0.0.1:${address.port}` })
  const listen = (listener: (message: ServerMessage) => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const publish = (message: ServerMessage) => {
    for (const listener of listeners) listener(message)
  }
  return { site, dashboard: { api, listen }, publish, listeners }
}

test('zones are loaded with the tag that a change refers to', async (t) => {
  const { dashboard, site } = await startSite(t)
  assert.deepEqual(await readZones(dashboard), { zones: site.zones, etag: '"1"' })
})

test('zones changed by another user are loaded again', async (t) => {
  const { dashboard, site, publish, listeners } = await startSite(t)
  const zones = new SiteZones(dashboard)
  const version = () => zones.current.value?.version
  zones.start()
  await eventually(() => version() === 1, 'the first zones')
  site.zones = { ...zonesJson(), version: 2 }
  publish({ type: 'zones_changed', version: 2 })
  await eventually(() => version() === 2, 'the changed zones')
  zones.stop()
  assert.equal(listeners.size, 0)
})

test('a gateway that does not respond is queried again, and known zones stay', async (t) => {
  const { dashboard, site, publish } = await startSite(t)
  const zones = new SiteZones(dashboard)
  const version = () => zones.current.value?.version
  zones.start()
  await eventually(() => version() === 1, 'the first zones')
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const { reads } = site
  site.isUp = false
  publish({ type: 'zones_changed', version: 2 })
  while (site.reads === reads) await new Promise(setImmediate)
  assert.equal(version(), 1)
  site.isUp = true
  site.zones = { ...zonesJson(), version: 2 }
  while (version() !== 2) {
    mock.timers.tick(5_000)
    await new Promise(setImmediate)
  }
  zones.stop()
})
