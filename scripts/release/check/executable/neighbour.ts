// node neighbour.ts VISIT KEY|ADDRESS: visits a machine's gateway, from within its network; prints the result as JSON.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import bonjourService from 'bonjour-service'
import { connectAsync } from 'mqtt'
import { ApiClient } from '#shared/client.ts'

const URL = 'http://127.0.0.1:8080'
const MQTT = 'mqtt://127.0.0.1:1883'
const FOUND_MS = 10_000

const [name = '', keyOrAddress] = process.argv.slice(2)
const api = new ApiClient({ url: URL, apiKey: keyOrAddress })

const VISITS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** Pairs a tablet, which is then identified only by its cookie. */
  pairing: async () => {
    const { user } = await api.call('GET /me')
    const asked = { user_id: user.user_id, name: 'Tablet' }
    const { code } = await api.call('POST /pairing-codes', { body: asked })
    const signedIn = await fetch(`${URL}/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: URL },
      body: JSON.stringify({ code }),
    })
    const [cookie = ''] = signedIn.headers.getSetCookie().map((one) => one.split(';')[0])
    const me = await fetch(`${URL}/me`, { headers: { cookie } })
    return [signedIn.status, me.status]
  },
  /** Lets a device report over MQTT and get its acknowledgement; returns the stored data. */
  message: async () => {
    const hardware_id = `visitor-${randomUUID().slice(0, 8)}`
    const body = { hardware_id, device_type: 'teebox' }
    const { mqtt } = await api.call('POST /devices', { body })
    const login = { clientId: mqtt.client_id, username: mqtt.username, password: mqtt.password }
    const client = await connectAsync(MQTT, login)
    const message = JSON.stringify({ lat: 28.41, long: -81.58, speed: 5 })
    await client.publishAsync(`dev/${hardware_id}/tlm`, message, { qos: 1 })
    await client.endAsync()
    return api.call('GET /devices/{id}/gps', { path: { id: hardware_id } })
  },
  /** Reads devices and records of an old database, through the API. */
  history: async () => {
    const { devices } = await api.call('GET /devices')
    const range = { from: '2026-05-01T00:00:00Z', to: '2026-05-02T00:00:00Z', limit: 100 }
    const histories = devices.map(({ hardware_id }) =>
      api.call('GET /devices/{id}/gps', { path: { id: hardware_id }, query: range }),
    )
    return (await Promise.all(histories)).map((records) => records.length)
  },
  /** Finds the hosts that announce themselves as a gateway by mDNS, in the network of this address. */
  mdns: async () => {
    // the library accepts more than its types declare
    const network = { interface: keyOrAddress, bind: '0.0.0.0' } as object
    const bonjour = new bonjourService.Bonjour(network)
    try {
      const search = bonjour.find({ type: 'cartbarn' })
      const [{ name, port }] = await once(search, 'up', { signal: AbortSignal.timeout(FOUND_MS) })
      return { name, port }
    } finally {
      bonjour.destroy()
    }
  },
}

const visit = VISITS[name]
if (visit === undefined) throw new Error(`there is no visit ${name}`)
console.log(JSON.stringify(await visit()))
