import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import bonjourService, { type Service } from 'bonjour-service'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { announcedName, announcedServices, announcedText } from './announced.ts'
import { Mdns, type MdnsOptions } from './mdns.ts'

const LOOPBACK = '127.0.0.1'
/** Beside that of the machine, which is not to hear of gateways of tests. */
const PORT = 45_353
const URLS = { http: 'http://127.0.0.1:8080', mqtt: 'mqtt://127.0.0.1:1883' }
const NOWHERE = { servicePath: '/nowhere/cartbarn.service', socketPath: '/nowhere/socket' }

function announce(t: TestContext, more: Partial<MdnsOptions> = {}) {
  const lines: string[] = []
  const mdns = new Mdns({
    ...announcedName(8080),
    ...{ services: announcedServices(URLS), text: announcedText('1.2.3', 'Pine Hill') },
    ...{ addresses: () => [LOOPBACK], port: PORT, avahi: NOWHERE },
    log: createLog('warn', { write: (line) => void lines.push(line) }),
    ...more,
  })
  t.after(() => mdns.stop())
  return { mdns, lines }
}

/** What a browser of another program sees, by type. */
function browse(t: TestContext, ...types: string[]): Service[] {
  const seen: Service[] = []
  const browser = new bonjourService.Bonjour({ port: PORT, interface: LOOPBACK, bind: '0.0.0.0' } as {
    port: number
  })
  t.after(() => browser.destroy())
  for (const type of types) {
    const search = browser.find({ type }, (service) => void seen.push(service))
    search.on('down', ({ fqdn }: Service) =>
      seen.splice(
        seen.findIndex((one) => one.fqdn === fqdn),
        1,
      ),
    )
  }
  return seen
}

test('others find the app and the door of devices, until the gateway stops', async (t) => {
  const { mdns, lines } = announce(t)
  await mdns.start()
  const seen = browse(t, 'cartbarn', 'http', 'mqtt')
  await eventually(() => seen.length === 3, 'found')
  const { name, host } = announcedName(8080)
  const said = seen.map((service) => [service.type, service.name, service.host, service.port])
  assert.deepEqual(said.sort(), [
    ['cartbarn', name, host, 8080],
    ['http', name, host, 8080],
    ['mqtt', name, host, 1883],
  ])
  assert.deepEqual({ ...seen[0]?.txt }, { path: '/app/', version: '1.2.3', site: 'Pine Hill' })
  await mdns.stop()
  await eventually(() => seen.length === 0, 'gone')
  assert.deepEqual(lines, [])
})

test('two gateways are two', async (t) => {
  const second = announcedServices({ http: 'https://127.0.0.1:8443', mqtts: 'mqtts://127.0.0.1:8883' })
  await announce(t).mdns.start()
  await announce(t, { ...announcedName(8443), services: second }).mdns.start()
  const seen = browse(t, 'cartbarn', 'https', 'secure-mqtt')
  await eventually(() => seen.length === 4, 'found')
  const found = seen.filter(({ type }) => type === 'cartbarn')
  assert.equal(new Set(found.map(({ name }) => name)).size, 2)
  assert.equal(new Set(found.map(({ host }) => host)).size, 2)
})

test('it is announced on a network that comes later', async (t) => {
  const addresses: string[] = []
  const { mdns } = announce(t, { addresses: () => [...addresses], renewMs: 5 })
  await mdns.start()
  addresses.push(LOOPBACK)
  const seen = browse(t, 'cartbarn')
  await eventually(() => seen.length === 1, 'found')
})

test('a port that is taken is a warning', async (t) => {
  const holder = createSocket('udp4')
  holder.bind(PORT)
  await once(holder, 'listening')
  t.after(() => holder.close())
  const { mdns, lines } = announce(t)
  await mdns.start()
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /EADDRINUSE/)
})

test('where avahi announces it nothing else does, and what its file says wrong is a warning', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-avahi-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const avahi = { servicePath: join(folder, 'cartbarn.service'), socketPath: folder }
  const service = ({ type, port }: { type: string; port: number }) =>
    `<service><type>_${type}._tcp</type>\n<port>${port}</port></service>`
  writeFileSync(avahi.servicePath, announcedServices(URLS).map(service).join('\n'))
  // a port that nobody could listen on: it is not tried
  const right = announce(t, { avahi, port: -1 })
  await right.mdns.start()
  assert.deepEqual(right.lines, [])
  const wrong = announce(t, { avahi, port: -1, services: announcedServices({ http: 'http://127.0.0.1' }) })
  await wrong.mdns.start()
  assert.match(wrong.lines.join(), /avahi announces other ports/)
  const off = announce(t, { avahi, port: -1, services: [] })
  await off.mdns.start()
  assert.match(off.lines.join(), /delete its file/)
})

test('the name of a site is cut to what a record holds', () => {
  const { site = '' } = announcedText('1.2.3', 'Ü'.repeat(200))
  assert.equal(Buffer.byteLength(`site=${site}`), 255)
  assert.equal('site' in announcedText('1.2.3', ''), false)
})
