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
import { Mdns, type MdnsOptions } from './mdns.ts'
import { announcedName, announcedServices, announcedText, markOf } from './mdns-services.ts'

const LOOPBACK = '127.0.0.1'
/** Differs from the standard port, so that the host does not receive the announcements of tests. */
const PORT = 45_353
const LAN = { address: LOOPBACK, name: 'lo', isIpv6: false }
/** Marks of two hosts. */
const [MARK, OTHER_MARK] = ['3f2a', '90bc']
const URLS = { http: 'http://127.0.0.1:8080', mqtt: 'mqtt://127.0.0.1:1883' }
const NOWHERE = { servicePath: '/nowhere/cartbarn.service', socketPath: '/nowhere/socket' }

function announce(t: TestContext, more: Partial<MdnsOptions> = {}) {
  const lines: string[] = []
  const mdns = new Mdns({
    names: announcedName(MARK),
    services: announcedServices(URLS),
    text: announcedText('1.2.3', 'Pine Hill'),
    addresses: () => [LAN],
    port: PORT,
    probeMs: 5,
    avahi: NOWHERE,
    log: createLog('warn', { write: (line) => void lines.push(line) }),
    ...more,
  })
  t.after(() => mdns.stop())
  return { mdns, lines }
}

/** Returns the services that a browser in another program finds, by type. */
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

test('the app and the MQTT listener are discoverable until the gateway stops', async (t) => {
  const { mdns, lines } = announce(t)
  await mdns.start()
  const seen = browse(t, 'cartbarn', 'http', 'mqtt')
  await eventually(() => seen.length === 3, 'found')
  const { name, host } = announcedName(MARK)
  const announced = seen.map((service) => [service.type, service.name, service.host, service.port])
  assert.deepEqual(announced.sort(), [
    ['cartbarn', name, host, 8080],
    ['http', name, host, 8080],
    ['mqtt', name, host, 1883],
  ])
  assert.deepEqual({ ...seen[0]?.txt }, { path: '/app/', version: '1.2.3', site: 'Pine Hill' })
  await mdns.stop()
  await eventually(() => seen.length === 0, 'gone')
  assert.deepEqual(lines, [])
})

test('two gateways are discovered as two', async (t) => {
  const second = announcedServices({ http: 'https://127.0.0.1:8443', mqtts: 'mqtts://127.0.0.1:8883' })
  await announce(t).mdns.start()
  await announce(t, { names: announcedName(OTHER_MARK), services: second }).mdns.start()
  const seen = browse(t, 'cartbarn', 'https', 'secure-mqtt')
  await eventually(() => seen.length === 4, 'found')
  const found = seen.filter(({ type }) => type === 'cartbarn')
  assert.equal(new Set(found.map(({ name }) => name)).size, 2)
})

test('the gateway is announced on a network that appears later', async (t) => {
  const addresses: (typeof LAN)[] = []
  const { mdns } = announce(t, { addresses: () => [...addresses], renewMs: 5 })
  await mdns.start()
  addresses.push(LAN)
  const seen = browse(t, 'cartbarn')
  await eventually(() => seen.length === 1, 'found')
})

/** Returns the response of another host to a query for a name, with its own address. Source: RFC 1035, 4.1. */
function answerOf(host: string, address: string): Buffer {
  const name = host.split('.').flatMap((label) => [label.length, ...Buffer.from(label)])
  const record = [...name, 0, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, ...address.split('.').map(Number)]
  return Buffer.from([0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, ...record])
}

for (const [what, address, isConflict] of [
  ['another machine', '192.0.2.7', true],
  ['this machine itself', LOOPBACK, false],
] as const)
  test(`when ${what} answers to its name it is announced ${isConflict ? 'with' : 'without'} a mark`, async (t) => {
    const { mdns, lines } = announce(t)
    await mdns.start()
    const { host, markedHost } = announcedName(MARK)
    const socket = createSocket('udp4')
    t.after(() => socket.close())
    await new Promise((resolve) => socket.send(answerOf(host, address), PORT, LOOPBACK, resolve))
    if (isConflict) await eventually(() => lines.length === 1, 'a warning')
    const seen = browse(t, 'cartbarn')
    await eventually(() => seen.length === 1, 'found')
    assert.equal(seen[0]?.host, isConflict ? markedHost : host)
    assert.equal(lines.length, isConflict ? 1 : 0)
  })

test('the announced host is the name in its certificate, and never a name that every host has', () => {
  assert.deepEqual(announcedName(MARK, 'barn.club.example'), {
    name: 'cartbarn on barn (3f2a)',
    host: 'barn.local',
    markedHost: 'barn-3f2a.local',
  })
  assert.equal(announcedName(MARK, 'localhost').host, 'localhost-3f2a.local')
  assert.equal(announcedName(MARK, '').host, 'cartbarn.local')
})

test('a mark is the same at each start, and differs between hosts and gateways of one host', () => {
  const signs = { board: ['b1'], system: ['s1'], network: ['n1'] }
  const mark = markOf(signs, 'data', 8080)
  assert.match(mark, /^[0-9a-f]{4}$/)
  // a network that comes later, or a repair
  assert.equal(markOf({ board: ['b1'], system: ['s1'] }, 'repaired', 8080), mark)
  const others = [
    markOf({ ...signs, board: ['b2'] }, 'data', 8080),
    markOf({ system: ['s1'] }, 'data', 8080),
    markOf({ system: ['s2'] }, 'data', 8080),
    markOf({}, 'data', 8080),
    markOf({}, 'other data', 8080),
    markOf(signs, 'data', 8081),
  ]
  assert.equal(new Set([mark, ...others]).size, 7)
})

test('a taken port is a warning', async (t) => {
  const holder = createSocket('udp4')
  holder.bind(PORT)
  await once(holder, 'listening')
  t.after(() => holder.close())
  const { mdns, lines } = announce(t)
  await mdns.start()
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /EADDRINUSE/)
})

test('avahi replaces the own announcement, and errors in its service file are warnings', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-avahi-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const avahi = { servicePath: join(folder, 'cartbarn.service'), socketPath: folder }
  const service = ({ type, port }: { type: string; port: number }) =>
    `<service><type>_${type}._tcp</type>\n<port>${port}</port></service>`
  writeFileSync(avahi.servicePath, announcedServices(URLS).map(service).join('\n'))
  // an invalid port, which shows that none is opened
  const right = announce(t, { avahi, port: -1 })
  await right.mdns.start()
  assert.deepEqual(right.lines, [])
  const wrong = announce(t, { avahi, port: -1, services: announcedServices({ http: 'http://127.0.0.1' }) })
  await wrong.mdns.start()
  assert.match(wrong.lines.join(), /avahi announces ports that differ/)
  const off = announce(t, { avahi, port: -1, services: [] })
  await off.mdns.start()
  assert.match(off.lines.join(), /delete its file/)
})

test('the name of a site is truncated to the limit of a record', () => {
  const { site = '' } = announcedText('1.2.3', 'Ü'.repeat(200))
  assert.equal(Buffer.byteLength(`site=${site}`), 255)
  assert.equal('site' in announcedText('1.2.3', ''), false)
})
