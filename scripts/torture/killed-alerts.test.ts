import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { connectAsync } from 'mqtt'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { type GatewayApi, loginOf } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, startGateway } from '#scripts/rig/gateway-process.ts'
import { Workbench } from '#scripts/rig/processes.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { eventually } from '#shared/testing/eventually.ts'

const LIVES = 5
const CARTS = Array.from({ length: LIVES }, (_, life) => cartsOf(life)).flat()
/** Around the moment at which carts become silent, the alerts are written, and notifications are sent. */
const KILLED_AFTER_MS = [900, 1500] as const
const PATIENCE_MS = 60_000

test('a gateway that is killed while it opens alerts opens each of them once', async (t) => {
  const folder = new CommandFolder()
  const options = { entry: ENTRY, dataDir: folder.file('data') }
  let gateway = await startGateway(new Workbench(), options)
  const { ports, api: client } = gateway
  try {
    // each cart counts as silent one second after its report
    await client.call('PATCH /site', { body: { silent_after_s: 1 } })
    const alerts = async () => (await client.call('GET /alerts', { query: { kind: 'silent_on_course' } })).alerts
    for (let life = 0; life < LIVES; life++) {
      for (const cart of cartsOf(life)) await speakOnce(client, ports.mqtt, cart)
      const [from, to] = KILLED_AFTER_MS
      await wait(from + Math.random() * (to - from))
      t.diagnostic(`${(await alerts()).length} alerts of ${2 * (life + 1)} before kill ${life + 1}`)
      await gateway.process.stop('SIGKILL')
      gateway = await startGateway(new Workbench(), { ...options, ports })
    }
    await eventually(async () => (await alerts()).length === CARTS.length, 'an alert for each cart', PATIENCE_MS)
    // time for ticks that find nothing more
    await wait(3000)
    const found = await alerts()
    assert.deepEqual(
      found.map(({ cart, closed_at }) => `${cart} ${closed_at}`).sort(),
      CARTS.map((cart) => `${cart} null`),
    )
    const { user_id } = (await client.call('GET /me')).user
    const program = await connectAsync(`mqtt://127.0.0.1:${ports.mqtt}`, { username: user_id, password: ADMIN_KEY })
    const kept = new Map<string, string>()
    program.on('message', (topic, payload) => kept.set(topic, payload.toString()))
    await program.subscribeAsync('alert/silent_on_course/#', { qos: 1 })
    await eventually(() => kept.size === CARTS.length, 'the messages')
    assert.deepEqual(
      new Map([...kept].sort()),
      new Map(found.map((alert) => [`alert/silent_on_course/${alert.cart}`, JSON.stringify(alert)] as const).sort()),
    )
    await program.endAsync()
  } finally {
    await gateway.process.stop('SIGKILL')
    folder.remove()
  }
})

/** Carts that report for the first time in a life. */
function cartsOf(life: number): string[] {
  return [`${life}a`, `${life}b`]
}

/** Registers the lock of a cart, which reports its position and disconnects. */
async function speakOnce(client: GatewayApi, mqtt: number, cart: string): Promise<void> {
  const hardwareId = `lock-${cart}`
  const body = { hardware_id: hardwareId, device_type: 'teebox', cart }
  const { password } = (await client.call('POST /devices', { body })).mqtt
  const device = await connectAsync(`mqtt://127.0.0.1:${mqtt}`, loginOf({ hardwareId, password }))
  await device.publishAsync(`dev/${hardwareId}/tlm`, JSON.stringify({ lat: 0.1, long: 0.1 }), { qos: 1 })
  await device.endAsync()
}
