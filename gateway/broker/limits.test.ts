import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { mock, type TestContext, test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { connectPacket, PACKET, publishPacket, subscribePacket } from '#testing/mqtt-packets.ts'
import { RawMqtt } from '#testing/raw-mqtt.ts'
import { ADMIN_KEY, metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { LIMIT_DROPS, LIMIT_REFUSALS } from './limits.ts'

/** Timeout that allows for megabytes of two-byte responses, each a separate write. */
const CUT_WITHIN_MS = 60_000
const REFUSED = 'cartbarn_mqtt_refused_total'
const DROPPED = 'cartbarn_mqtt_dropped_total'

interface Scene {
  g: TestGateway
  adminId: string
  /** Opens a connection without sending anything; it is closed at the end. */
  open(): Promise<RawMqtt>
  /** Logs in as a program of the admin. */
  program(clientId: string, options?: { clean?: boolean }): Promise<RawMqtt>
}

/** Starts a gateway with small limits, and another client that must not be affected. */
async function setScene(t: TestContext, settings: Record<string, string>): Promise<Scene & { neighbour: RawMqtt }> {
  const g = await startGateway(settings)
  const opened: RawMqtt[] = []
  t.after(async () => {
    for (const client of opened) client.destroy()
    await g.stop()
  })
  const password = await g.register('neighbour')
  const adminId = await g.adminId()
  const open = async () => {
    const client = await RawMqtt.open(g.mqtt)
    opened.push(client)
    return client
  }
  const program = async (clientId: string, { clean = true } = {}) => {
    const client = await open()
    assert.equal(await client.login({ clientId, username: adminId, password: ADMIN_KEY, clean }), 0)
    return client
  }
  const neighbour = await open()
  const login = { clientId: 'neighbour', username: 'neighbour', password }
  assert.equal(await neighbour.login(login), 0)
  return { g, adminId, open, program, neighbour }
}

async function subscribed(client: RawMqtt, filters: Record<string, number>): Promise<number[]> {
  client.send(subscribePacket(filters))
  return [...(await client.next(PACKET.suback)).body.subarray(2)]
}

async function acknowledged(client: RawMqtt, ...messages: Buffer[]): Promise<void> {
  client.send(...messages)
  for (const _ of messages) await client.next(PACKET.puback)
}

/** Stops reading: what is sent to the client stays in the buffers of the system and then of the gateway. */
function stopReading({ stream }: RawMqtt): void {
  stream.pause()
}

interface Case {
  reason: (typeof LIMIT_REFUSALS)[number] | (typeof LIMIT_DROPS)[number]
  what: string
  settings?: Record<string, string>
  /** True if the test advances the hours of the gateway. */
  hasFakeHours?: boolean
  provoke(scene: Scene): Promise<void>
}

const DAY_MS = 86_400_000

const LARGE = 'x'.repeat(60_000)

const CASES: Case[] = [
  {
    reason: 'too_many_connections',
    what: 'one connection more than are allowed',
    settings: { CARTBARN_MQTT_CONNECTIONS: '3' },
    provoke: async ({ open }) => {
      await open()
      await open()
      await (await open()).closed()
    },
  },
  {
    reason: 'too_many_connections_of_address',
    what: 'one connection more than an address may have',
    settings: { CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '3' },
    provoke: async ({ open }) => {
      await open()
      await open()
      await (await open()).closed()
    },
  },
  {
    reason: 'too_many_connections_of_address',
    what: 'one WebSocket more than an address may have',
    settings: { CARTBARN_MQTT_CONNECTIONS_PER_ADDRESS: '1' },
    provoke: async ({ g }) => {
      await assert.rejects(RawMqtt.open(`${g.http.replace('http', 'ws')}/mqtt`), /429/)
    },
  },
  {
    reason: 'too_many_connections_of_owner',
    what: 'one connection more than a user may have',
    settings: { CARTBARN_USER_MQTT_CONNECTIONS: '1' },
    provoke: async ({ adminId, open, program }) => {
      await program('first')
      const login = { clientId: 'second', username: adminId, password: ADMIN_KEY }
      assert.equal(await (await open()).login(login), 3)
    },
  },
  {
    reason: 'too_many_sessions_of_owner',
    what: 'one kept session more than a user may have',
    settings: { CARTBARN_USER_MQTT_SESSIONS: '1' },
    provoke: async ({ adminId, open, program }) => {
      await program('first', { clean: false })
      const login = { clientId: 'second', username: adminId, password: ADMIN_KEY, clean: false }
      assert.equal(await (await open()).login(login), 3)
    },
  },
  {
    reason: 'too_many_half_open',
    what: 'more connections that do not log in than an address may have',
    settings: { CARTBARN_MQTT_CONNECTIONS: '400' },
    provoke: async ({ g, open }) => {
      const settings = { host: '127.0.0.1', port: Number(new URL(g.mqtt).port), localAddress: '127.0.0.9' }
      const sockets = Array.from({ length: 120 }, () => connect(settings).on('error', () => undefined))
      await eventually(async () => (await metric(g, REFUSED, 'too_many_half_open')) > 0, 'refused')
      for (const socket of sockets) socket.destroy()
      await open()
    },
  },
  {
    reason: 'too_many_failed_logins',
    what: 'guessing passwords',
    provoke: async ({ g, open }) => {
      const guess = async () => {
        const client = await open()
        client.send(connectPacket({ clientId: 'x', username: 'neighbour', password: 'guess' }))
        await client.nextOrClosed()
        client.destroy()
      }
      await eventually(async () => {
        await Promise.all(Array.from({ length: 20 }, guess))
        return (await metric(g, REFUSED, 'too_many_failed_logins')) > 0
      }, 'turned away')
    },
  },
  {
    reason: 'connect_timeout',
    what: 'no CONNECT in time',
    settings: { CARTBARN_MQTT_CONNECT_TIMEOUT_S: '1' },
    provoke: async ({ open }) => (await open()).closed(),
  },
  {
    reason: 'packet_too_large',
    what: 'a packet that announces more than is allowed',
    provoke: async ({ open }) => {
      const client = await open()
      client.send(Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]))
      await client.closed()
    },
  },
  {
    reason: 'packet_too_large',
    what: 'a payload of one byte more than is allowed',
    settings: { CARTBARN_MQTT_PACKET_BYTES: '1024' },
    provoke: async ({ program }) => {
      const client = await program('large')
      client.send(publishPacket('a', 'x'.repeat(1025)))
      await client.closed()
    },
  },
  {
    reason: 'packet_too_large',
    what: 'a WebSocket frame of more than two packets',
    settings: { CARTBARN_MQTT_PACKET_BYTES: '1024' },
    provoke: async ({ g }) => {
      const client = await RawMqtt.open(`${g.http.replace('http', 'ws')}/mqtt`)
      client.send(Buffer.alloc(3000))
      await client.closed()
    },
  },
  {
    reason: 'too_many_in_flight',
    what: 'QoS 2 messages that are never released',
    // ten times as many as may be in flight
    settings: { CARTBARN_MQTT_IN_FLIGHT: '3' },
    provoke: async ({ program }) => {
      const client = await program('unreleased')
      client.send(...Array.from({ length: 31 }, (_, i) => publishPacket('a', 'x', { qos: 2, id: i + 1 })))
      await client.closed()
    },
  },
  {
    reason: 'too_many_subscriptions',
    what: 'one subscription more than is allowed',
    settings: { CARTBARN_MQTT_SUBSCRIPTIONS: '2' },
    provoke: async ({ program }) => {
      assert.deepEqual(await subscribed(await program('curious'), { a: 0, b: 0, c: 0 }), [0, 0, 128])
    },
  },
  {
    reason: 'too_many_subscriptions_of_owner',
    what: 'one subscription more than a user may have, on two connections',
    settings: { CARTBARN_USER_MQTT_SUBSCRIPTIONS: '3' },
    provoke: async ({ program }) => {
      assert.deepEqual(await subscribed(await program('one'), { a: 0, b: 0 }), [0, 0])
      assert.deepEqual(await subscribed(await program('other'), { a: 0, b: 0 }), [0, 128])
    },
  },
  {
    reason: 'topic_filter_too_long',
    what: 'a topic filter of more than 256 characters',
    provoke: async ({ program }) => {
      assert.deepEqual(await subscribed(await program('wordy'), { ['x'.repeat(257)]: 0 }), [128])
    },
  },
  {
    reason: 'too_many_topic_levels',
    what: 'publishing to a topic that is too deep',
    provoke: async ({ program }) => {
      const client = await program('deep')
      client.send(publishPacket('a/'.repeat(12), 'x'))
      await client.closed()
    },
  },
  {
    reason: 'too_many_topic_levels',
    what: 'subscribing to a topic that is too deep',
    provoke: async ({ program }) => {
      const client = await program('deep')
      client.send(subscribePacket({ [`${'a/'.repeat(12)}#`]: 0 }))
      await client.closed()
    },
  },
  {
    reason: 'too_many_topic_levels',
    what: 'a last will on a topic that is too deep',
    provoke: async ({ adminId, open }) => {
      const client = await open()
      const will = { topic: 'a/'.repeat(150), payload: 'gone' }
      const login = { clientId: 'deep', username: adminId, password: ADMIN_KEY, will }
      assert.equal(await client.login(login), 5)
    },
  },
  {
    reason: 'throttled',
    what: 'more messages a second than are allowed',
    settings: { CARTBARN_MQTT_MESSAGES_PER_SECOND: '10' },
    provoke: async ({ program }) => {
      const client = await program('eager')
      await acknowledged(client, ...Array.from({ length: 50 }, (_, i) => publishPacket('a', 'x', { id: i + 1 })))
      client.send(publishPacket('a', 'one more', { qos: 0 }))
      await client.flush()
    },
  },
  {
    reason: 'too_many_lock_events',
    what: 'more lock events than a device may report',
    provoke: async ({ g, open }) => {
      const password = await g.register('flooder')
      const client = await open()
      assert.equal(await client.login({ clientId: 'flooder', username: 'flooder', password }), 0)
      const events = JSON.stringify(Array(500).fill({ event: 'lock', source: 'key' }))
      for (let i = 1; i <= 3; i++) await acknowledged(client, publishPacket('dev/flooder/evt', events, { id: i }))
      client.send(publishPacket('dev/flooder/evt', events, { id: 4 }))
    },
  },
  {
    reason: 'slow_reader_cut',
    what: 'asking for answers and never reading them',
    settings: { CARTBARN_MQTT_SLOW_READER_BYTES: '65536' },
    provoke: async ({ g, program }) => {
      const client = await program('deaf')
      stopReading(client)
      const pings = Buffer.alloc(65_536, Buffer.from([0xc0, 0]))
      await eventually(
        async () => {
          // the buffers of the system hold megabytes before those of the gateway fill
          if (client.stream.writableLength < 1_000_000) client.send(...Array<Buffer>(16).fill(pings))
          return (await metric(g, REFUSED, 'slow_reader_cut')) > 0
        },
        'cut',
        CUT_WITHIN_MS,
      )
    },
  },
  {
    reason: 'slow_reader_skipped',
    what: 'a QoS 0 subscriber that does not read',
    provoke: async ({ g, program }) => {
      const deaf = await program('deaf')
      await subscribed(deaf, { news: 0 })
      stopReading(deaf)
      const speaker = await program('speaker')
      await eventually(async () => {
        await acknowledged(
          speaker,
          ...Array.from({ length: 20 }, (_, i) => publishPacket('news', LARGE, { id: i + 1 })),
        )
        return (await metric(g, REFUSED, 'slow_reader_skipped')) > 0
      }, 'skipped')
    },
  },
  {
    reason: 'queue_full',
    what: 'more messages than may wait for one client',
    settings: { CARTBARN_MQTT_QUEUE_MESSAGES: '2' },
    provoke: async ({ program }) => {
      const sleeper = await program('sleeper', { clean: false })
      await subscribed(sleeper, { news: 1 })
      sleeper.destroy()
      await acknowledged(await program('speaker'), ...[1, 2, 3].map((id) => publishPacket('news', 'x', { id })))
    },
  },
  {
    reason: 'queues_full',
    what: 'more messages than may wait for all clients together',
    settings: { CARTBARN_MQTT_QUEUES_MESSAGES: '2' },
    provoke: async ({ program }) => {
      for (const clientId of ['sleeper-1', 'sleeper-2', 'sleeper-3']) {
        const sleeper = await program(clientId, { clean: false })
        await subscribed(sleeper, { news: 1 })
        sleeper.destroy()
      }
      await acknowledged(await program('speaker'), publishPacket('news', 'x'))
    },
  },
  {
    reason: 'retained_full',
    what: 'more retained messages than are kept',
    settings: { CARTBARN_MQTT_RETAINED_MESSAGES: '1' },
    provoke: async ({ program }) => {
      const speaker = await program('speaker')
      const retained = ['a', 'b'].map((topic, i) => publishPacket(topic, 'x', { id: i + 1, isRetained: true }))
      await acknowledged(speaker, ...retained)
    },
  },
  {
    reason: 'session_expired',
    what: 'a session whose client is away for a day too long',
    settings: { CARTBARN_MQTT_SESSION_DAYS: '1' },
    hasFakeHours: true,
    provoke: async ({ g, program }) => {
      const sleeper = await program('sleeper', { clean: false })
      sleeper.destroy()
      const { body: stats } = await g.request('GET', '/mqtt/stats')
      assert.equal(stats.dropped.session_expired, 0)
      const idleHours = async () => (await g.request('GET', '/mqtt/clients?search=sleeper')).body.clients[0]?.idle_hours
      await eventually(async () => (await idleHours()) === 0, 'away')
      mock.timers.tick(DAY_MS - 1)
      assert.equal(await idleHours(), 23)
      mock.timers.tick(1)
      assert.equal(await idleHours(), undefined)
    },
  },
]

for (const { reason, what, settings = {}, hasFakeHours = false, provoke } of CASES) {
  test(`${what} is counted as ${reason} and does not affect other clients`, async (t) => {
    if (hasFakeHours) mock.timers.enable({ apis: ['setInterval'] })
    t.after(() => mock.timers.reset())
    const { neighbour, ...scene } = await setScene(t, settings)
    const isDrop = (LIMIT_DROPS as readonly string[]).includes(reason)
    const counter = isDrop ? DROPPED : REFUSED
    const { body } = await scene.g.request('GET', '/metrics')
    // present before it happens, otherwise a first time would not show as an increase
    assert.ok(body.includes(`${counter}{reason="${reason}"} 0\n`))
    await provoke(scene)
    await eventually(async () => (await metric(scene.g, counter, reason)) > 0, `${reason} counted`)
    const { body: stats } = await scene.g.request('GET', '/mqtt/stats')
    assert.ok(stats[isDrop ? 'dropped' : 'refused'][reason] > 0)
    await acknowledged(neighbour, publishPacket('dev/neighbour/tlm', '{"speed":1}'))
  })
}

test('every limit has a test', () => {
  // takes fifteen seconds; broker.test.ts mocks the clock for it
  const tested = new Set<string>([...CASES.map(({ reason }) => reason), 'keepalive_timeout'])
  assert.deepEqual([...tested].sort(), [...LIMIT_REFUSALS, ...LIMIT_DROPS].sort())
})
