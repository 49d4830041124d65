import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as loopTurn } from 'node:timers/promises'
import { MovingTime } from '#shared/testing/moving-time.ts'
import { DISCONNECT, PINGREQ } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const SECOND_MS = 1000
const KEEPALIVE_S = 30

// every timer of this process follows the clock, including those of Aedes, ws and Node's HTTP server
test('through 70 minutes a device is online while it is connected, and only then', async (t) => {
  const time = new MovingTime(t)
  const gateway = await time.during(startGateway({}, { clock: time.clock, tickMs: SECOND_MS }))
  t.after(() => time.during(gateway.stop()))
  const carts = new Carts(gateway)
  for (const name of ['talks', 'pings', 'rarely-pings', 'breaks-off', 'falls-silent', 'leaves'])
    await time.during(carts.connect(name, name === 'rarely-pings' ? 10 * 60 : KEEPALIVE_S))
  const watcher = await time.during(gateway.realtime())
  await time.during(watcher.subscribe('*'))

  const startedAtMs = time.clock.nowMs()
  const events = [
    { minute: 2, act: async () => carts.get('leaves').send(DISCONNECT) },
    { minute: 6, act: async () => carts.get('breaks-off').destroy() },
    { minute: 8, act: () => carts.connect('breaks-off', KEEPALIVE_S) },
    { minute: 65, act: async () => carts.get('rarely-pings').destroy() },
  ]
  for (let minute = 1; minute <= 70; minute++) {
    for (let second = 0; second < 60; second += 20) {
      for (const name of ['pings', 'breaks-off', 'leaves']) carts.ping(name)
      const position = { lat: 51.5, long: (minute * 60 + second) / 1e5 }
      await time.during(carts.get('talks').publish('dev/talks/tlm', JSON.stringify(position)))
      await time.until(startedAtMs + ((minute - 1) * 60 + second + 20) * SECOND_MS)
    }
    if (minute % 10 === 0) carts.ping('rarely-pings')
    for (const event of events) if (event.minute === minute) await time.during(event.act())
    const online = {
      'breaks-off': minute < 6 || minute >= 8,
      'falls-silent': false,
      leaves: minute < 2,
      pings: true,
      'rarely-pings': minute < 65,
      talks: true,
    }
    await time.during(carts.areOnline(online, `minute ${minute}`))
    assert.equal(watcher.socket.readyState, watcher.socket.OPEN, `realtime, minute ${minute}`)
  }
})

/** Carts with a last will, each on a raw connection. */
class Carts {
  readonly #gateway: TestGateway
  readonly #connections = new Map<string, { client: RawMqtt; password: string }>()

  constructor(gateway: TestGateway) {
    this.#gateway = gateway
  }

  get(name: string): RawMqtt {
    const connection = this.#connections.get(name)
    assert.ok(connection, name)
    return connection.client
  }

  ping(name: string): void {
    const client = this.get(name)
    if (!client.isClosed) client.send(PINGREQ)
  }

  async connect(name: string, keepaliveS: number): Promise<void> {
    const password = this.#connections.get(name)?.password ?? (await this.#gateway.register(name))
    const client = await RawMqtt.open(this.#gateway.mqtt)
    const will = { topic: `dev/${name}/st`, payload: '{"online":false}' }
    assert.equal(await client.login({ clientId: name, username: name, password, will, keepaliveS }), 0)
    await client.publish(`dev/${name}/st`, '{"online":true}', { isRetained: true })
    this.#connections.set(name, { client, password })
  }

  async areOnline(expected: Record<string, boolean>, when: string): Promise<void> {
    const seen = async () => {
      const { body } = await this.#gateway.request('GET', '/devices')
      const devices: { hardware_id: string; is_online: boolean }[] = body.devices
      return Object.fromEntries(devices.map(({ hardware_id, is_online }) => [hardware_id, is_online]))
    }
    const isRight = async () => JSON.stringify(await seen()) === JSON.stringify(expected)
    for (let tries = 0; tries < 50 && !(await isRight()); tries++) await loopTurn()
    assert.deepEqual(await seen(), expected, when)
    const { body } = await this.#gateway.request('GET', '/mqtt/clients')
    const clients: { client_id: string; connected: boolean }[] = body.clients
    const connected = clients.filter((client) => client.connected).map(({ client_id }) => client_id)
    assert.deepEqual(
      connected.sort(),
      Object.keys(expected).filter((name) => expected[name]),
      when,
    )
  }
}
