import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { type Config, readConfig } from '#gateway/config.ts'
import { createGateway, type Gateway } from '#gateway/gateway.ts'
import type { Overrides } from '#gateway/services.ts'
import type { OpenApiDocument } from '#shared/http/openapi.ts'
import { createLog } from '#shared/log.ts'
import { DocumentedAnswers } from '#shared/testing/documented-answers.ts'
import { onceARun } from '#shared/testing/once-a-run.ts'
import { migrate } from '#store/migrate.ts'
import { openForSetup } from '#store/writer/open.ts'
import { RealtimeClient } from './realtime-client.ts'

export const ADMIN_KEY = 'flt_admin_key_for_tests_0123456789'

export interface Answer {
  status: number
  headers: Headers
  // tests look into answers of every shape
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
}

// the document is the same for every gateway of a test file, and takes longer to make than most requests
let documentedAnswers: DocumentedAnswers | undefined

interface RequestOptions {
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
}

/** Where each protocol is spoken; what is to hold for all of them is tested over each. */
export const TRANSPORTS: Record<string, (gateway: TestGateway) => string> = {
  mqtt: ({ mqtt }) => mqtt,
  mqtts: ({ mqtts }) => mqtts,
  ws: ({ http }) => `${http.replace('http', 'ws')}/mqtt`,
  wss: ({ http }) => `${http.replace('http', 'ws')}/mqtt`,
}

/** A whole gateway on free ports and a folder of its own: the real broker, database, API and channel. */
export class TestGateway {
  readonly config: Config
  readonly #overrides: Overrides
  readonly #clients = new Set<MqttClient>()
  readonly #sockets = new Set<RealtimeClient>()
  #gateway: Gateway
  #programs = 0

  constructor(config: Config, overrides: Overrides) {
    this.config = config
    this.#overrides = overrides
    this.#gateway = this.#create()
  }

  get app(): Gateway['app'] {
    return this.#gateway.app
  }

  get intents(): Gateway['intents'] {
    return this.#gateway.intents
  }

  get http(): string {
    return this.#gateway.addresses().http
  }

  get mqtt(): string {
    return this.#address('mqtt')
  }

  get mqtts(): string {
    return this.#address('mqtts')
  }

  /** What a client needs to trust it: its own certificate, or its authority, as it is in the file now. */
  get trust(): { ca?: Buffer } {
    const { tls, dataDir } = this.config
    if (tls === undefined) return {}
    return { ca: readFileSync(tls.isOfOwnAuthority ? join(dataDir, 'tls', 'authority.pem') : tls.certPath) }
  }

  /** The address of a protocol of `TRANSPORTS`. */
  urlOf(protocol = 'mqtt'): string {
    const address = TRANSPORTS[protocol]
    if (address === undefined) throw new Error(`no address for ${protocol}`)
    return address(this)
  }

  start(): Promise<void> {
    return this.#gateway.start()
  }

  /** Stops the gateway and everything a test opened on it; the folder is deleted. */
  async stop(): Promise<void> {
    await this.closeClients()
    await this.#gateway.stop()
    rmSync(this.config.dataDir, { recursive: true, force: true })
  }

  /** Deletes what is too old by its age. */
  runRetention(): Promise<void> {
    return this.#gateway.runRetention()
  }

  reloadCertificate(): Promise<void> {
    return this.#gateway.reloadCertificate()
  }

  /** A clean stop and a new start on the same folder; ports change. `meanwhile` is called between the two. */
  async restart(meanwhile: () => unknown = () => undefined): Promise<void> {
    await this.closeClients()
    await this.#gateway.stop()
    await meanwhile()
    this.#gateway = this.#create()
    await this.#gateway.start()
  }

  /**
   * A request through the app itself, without a socket; the admin's key unless told, null for none.
   * Throws when the answer is not the one the OpenAPI document promises.
   */
  async request(
    method: string,
    path: string,
    { key = ADMIN_KEY, body, headers = {} }: RequestOptions = {},
  ): Promise<Answer> {
    const init: RequestInit = {
      method,
      headers: { ...(key === null ? {} : { 'x-api-key': key }), ...headers },
    }
    if (body !== undefined) {
      const isRaw = typeof body === 'string' || body instanceof Blob || body instanceof Uint8Array
      // bytes of a test are never shared with another thread
      init.body = isRaw ? (body as string | Blob | Uint8Array<ArrayBuffer>) : JSON.stringify(body)
      init.headers = { 'content-type': 'application/json', ...init.headers }
    }
    const response = await this.app.request(path, init)
    const text = await response.text()
    const { status, headers: answered } = response
    const isJson = /[/+]json\b/.test(answered.get('content-type') ?? '')
    const answer = { status, headers: answered, body: isJson && text !== '' ? JSON.parse(text) : text }
    const documented = await this.documented()
    documented.check(method, path, answer)
    return answer
  }

  /** Registers a device; returns its MQTT password. */
  async register(hardwareId: string, deviceType = 'teebox'): Promise<string> {
    const { status, body } = await this.request('POST', '/devices', {
      body: { hardware_id: hardwareId, device_type: deviceType },
    })
    if (status !== 201) throw new Error(`not registered: ${JSON.stringify(body)}`)
    return body.mqtt.password
  }

  /** Makes a user; returns its id and key. */
  async createUser(fields: Record<string, unknown>): Promise<{ userId: string; key: string }> {
    const { status, body } = await this.request('POST', '/users', { body: { name: 'Test', ...fields } })
    if (status !== 201) throw new Error(`no user made: ${JSON.stringify(body)}`)
    return { userId: body.user.user_id, key: body.api_key }
  }

  /** Connects a device (or another user name) over TCP, TLS (`mqtts`) or WebSocket (`ws`); rejects when refused. */
  async connect(hardwareId: string, password: string, options: IClientOptions = {}): Promise<MqttClient> {
    const { protocol = 'mqtt', ...others } = options
    const client = await connectAsync(this.urlOf(protocol), {
      clientId: hardwareId,
      username: hardwareId,
      password,
      reconnectPeriod: 0,
      ...this.trust,
      ...others,
    })
    // a refused topic ends the connection: for the test to look at, not an unhandled error
    client.on('error', () => undefined)
    this.#clients.add(client)
    return client
  }

  /** Registers a device and connects it. */
  async device(hardwareId: string, deviceType = 'teebox'): Promise<MqttClient> {
    return this.connect(hardwareId, await this.register(hardwareId, deviceType))
  }

  /** Connects a program with an API key, by default the admin's; rejects when the login is refused. */
  async program(options: IClientOptions = {}, user?: { userId: string; key: string }): Promise<MqttClient> {
    const { userId, key } = user ?? { userId: await this.adminId(), key: ADMIN_KEY }
    return this.connect(userId, key, { clientId: `program-${++this.#programs}`, ...options })
  }

  async adminId(): Promise<string> {
    const { body } = await this.request('GET', '/users')
    return body[0].user_id
  }

  /** Signs a browser in, by default with the admin's key; throws when it is refused. */
  async signIn(proof: object = { api_key: ADMIN_KEY }): Promise<Browser> {
    const answer = await this.request('POST', '/sessions', { key: null, body: proof })
    if (answer.status !== 201) throw new Error(`not signed in: ${JSON.stringify(answer.body)}`)
    return new Browser(this, answer)
  }

  /** A browser signed in as a user, by a pairing code. */
  async pair(userId: string, name = 'Tablet'): Promise<Browser> {
    const { body } = await this.request('POST', '/pairing-codes', { body: { user_id: userId, name } })
    return this.signIn({ code: body.code })
  }

  /** A client of `/realtime` with headers of its own, as those of a browser. */
  async realtimeWith(headers: Record<string, string>): Promise<RealtimeClient> {
    const client = await RealtimeClient.open(`${this.http.replace('http', 'ws')}/realtime`, headers, this.trust)
    this.#sockets.add(client)
    return client
  }

  /** Opens `/realtime`; rejects when the upgrade is refused. */
  async realtime(key = ADMIN_KEY): Promise<RealtimeClient> {
    const url = `${this.http.replace('http', 'ws')}/realtime?api_key=${key}`
    const client = await RealtimeClient.open(url, {}, this.trust)
    this.#sockets.add(client)
    return client
  }

  async closeClients(): Promise<void> {
    for (const client of this.#clients) await client.endAsync(true)
    for (const socket of this.#sockets) socket.terminate()
    this.#clients.clear()
    this.#sockets.clear()
  }

  /** What `/openapi.json` promises. */
  async documented(): Promise<DocumentedAnswers> {
    if (documentedAnswers !== undefined) return documentedAnswers
    const text = await onceARun('openapi.json', async () => (await this.app.request('/openapi.json')).text())
    // it was made as one
    documentedAnswers = new DocumentedAnswers(JSON.parse(String(text)) as OpenApiDocument)
    return documentedAnswers
  }

  #address(protocol: string): string {
    const { mqtt, mqtts } = this.#gateway.addresses()
    const address = { mqtt, mqtts }[protocol]
    if (address === undefined) throw new Error(`the gateway has no ${protocol}`)
    return address
  }

  #create(): Gateway {
    return createGateway(this.config, createLog('silent'), this.#overrides)
  }
}

/** Where requests without a socket are sent to. */
const ORIGIN = 'http://localhost'

/** A browser that is signed in: it sends its cookie and where its page is from. */
export class Browser {
  readonly cookie: string
  readonly sessionId: string
  readonly #gateway: TestGateway

  constructor(gateway: TestGateway, { headers, body }: Answer) {
    this.#gateway = gateway
    this.cookie = headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    this.sessionId = body.session.session_id
  }

  /** `origin` null sends none. */
  request(
    method: string,
    path: string,
    {
      body,
      origin = ORIGIN,
      headers = {},
    }: { body?: unknown; origin?: string | null; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    return this.#gateway.request(method, path, {
      key: null,
      ...(body === undefined ? {} : { body }),
      headers: { cookie: this.cookie, ...(origin === null ? {} : { origin }), ...headers },
    })
  }

  /** What GET /me answers. */
  async me(): Promise<Answer['body']> {
    return (await this.request('GET', '/me')).body
  }

  /** A person gives the PIN. */
  act(userId: string, pin: string): Promise<Answer> {
    return this.request('POST', '/sessions/current/person', { body: { user_id: userId, pin } })
  }

  /** Opens `/realtime`. */
  realtime(): Promise<RealtimeClient> {
    return this.#gateway.realtimeWith({ cookie: this.cookie, origin: this.#gateway.http })
  }
}

/** Four times as often as for real: tests wait for what follows. */
export const TICK_MS = 250

/**
 * Starts a gateway for tests: silent, on 127.0.0.1, free ports, with room for what one admin does in all tests of a
 * file unless `settings` says otherwise.
 */
export async function startGateway(
  settings: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<TestGateway> {
  const config = readConfig({
    CARTBARN_DATA_DIR: settings.CARTBARN_DATA_DIR ?? (await newDataFolder()),
    CARTBARN_HOST: '127.0.0.1',
    CARTBARN_HTTP_PORT: '0',
    CARTBARN_MQTT_PORT: '0',
    CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
    CARTBARN_REQUESTS_PER_SECOND: '0',
    CARTBARN_MQTT_MESSAGES_PER_SECOND: '0',
    CARTBARN_USER_MQTT_CONNECTIONS: '1000',
    CARTBARN_USER_MQTT_SESSIONS: '1000',
    CARTBARN_USER_MQTT_SUBSCRIPTIONS: '10000',
    CARTBARN_READER_THREADS: '1',
    CARTBARN_COMMIT_MS: '0',
    ...settings,
  })
  const own: Overrides = {
    tickMs: TICK_MS,
    // what the machine of a test has must not matter, nor whether somebody has built the app
    hardwareTimesMs: () => [],
    dashboardDir: join(config.dataDir, 'no-app'),
    machineRoot: join(config.dataDir, 'no-machine'),
  }
  const gateway = new TestGateway(config, { ...own, ...overrides })
  await gateway.start()
  return gateway
}

/** A folder with a database that has all tables and nothing in them: to make them takes a fifth of a start. */
async function newDataFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-test-'))
  writeFileSync(join(folder, 'cartbarn.db'), await onceARun('empty.db', emptyDatabase), { mode: 0o600 })
  return folder
}

async function emptyDatabase(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-test-'))
  const path = join(folder, 'cartbarn.db')
  const connection = openForSetup(path)
  migrate(connection)
  // empties the log into the file
  connection.close()
  const file = readFileSync(path)
  rmSync(folder, { recursive: true })
  return file
}

/** The value of one line of `/metrics`; 0 when it is not there yet. */
export async function metric(gateway: TestGateway, name: string, label?: string): Promise<number> {
  const { body } = await gateway.request('GET', '/metrics')
  const lines: string[] = body.split('\n')
  const isWanted = (line: string) =>
    label === undefined ? line.startsWith(`${name} `) : line.startsWith(name) && line.includes(`="${label}"}`)
  return Number(lines.find(isWanted)?.split(' ').at(-1) ?? 0)
}
