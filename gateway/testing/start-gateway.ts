import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { type Config, readConfig } from '#gateway/config.ts'
import { createGateway } from '#gateway/gateway.ts'
import type { Gateway } from '#gateway/restorable-gateway.ts'
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

// shared, because the document is the same for every gateway of a test file, and takes longer to make than most
// requests
let documentedAnswers: DocumentedAnswers | undefined

export type Settings = Record<string, string>

interface Options {
  key?: string | null
  body?: unknown
  /** Origin of a browser's page; null for none. */
  origin?: string | null
  headers?: Record<string, string>
}

/** Short forms of requests: the body is an argument, what is rare an option. */
abstract class Requests {
  abstract request(method: string, path: string, options?: Options): Promise<Answer>

  get(path: string, options: Options = {}): Promise<Answer> {
    return this.request('GET', path, options)
  }

  post(path: string, body?: unknown, options: Options = {}): Promise<Answer> {
    return this.request('POST', path, { body, ...options })
  }

  put(path: string, body?: unknown, options: Options = {}): Promise<Answer> {
    return this.request('PUT', path, { body, ...options })
  }

  patch(path: string, body?: unknown, options: Options = {}): Promise<Answer> {
    return this.request('PATCH', path, { body, ...options })
  }

  remove(path: string, options: Options = {}): Promise<Answer> {
    return this.request('DELETE', path, options)
  }
}

/** Addresses by protocol; requirements common to all protocols are tested over each. */
export const TRANSPORTS: Record<string, (gateway: TestGateway) => string> = {
  mqtt: ({ mqtt }) => mqtt,
  mqtts: ({ mqtts }) => mqtts,
  ws: ({ http }) => `${http.replace('http', 'ws')}/mqtt`,
  wss: ({ http }) => `${http.replace('http', 'ws')}/mqtt`,
}

/** Whole gateway on free ports and in a folder of its own: the real broker, database, API and channel. */
export class TestGateway extends Requests {
  readonly #settings: Settings | (() => Settings)
  readonly #overrides: Overrides
  readonly #clients = new Set<MqttClient>()
  readonly #sockets = new Set<RealtimeClient>()
  #config: Config | undefined
  #gateway: Gateway | undefined
  #programs = 0

  /** Settings that are known only at the start come from a function. */
  constructor(settings: Settings | (() => Settings) = {}, overrides: Overrides = {}) {
    super()
    this.#settings = settings
    this.#overrides = overrides
  }

  get config(): Config {
    if (this.#config === undefined) throw new Error('the gateway was not started')
    return this.#config
  }

  get app(): Gateway['app'] {
    return this.#started.app
  }

  get disk(): Gateway['disk'] {
    return this.#started.disk
  }

  get intents(): Gateway['intents'] {
    return this.#started.intents
  }

  get http(): string {
    return this.#started.addresses().http
  }

  get mqtt(): string {
    return this.#address('mqtt')
  }

  get mqtts(): string {
    return this.#address('mqtts')
  }

  /** Trust settings of a client: the gateway's own certificate, or its authority, as now in the file. */
  get trust(): { ca?: Buffer } {
    const { tls, dataDir } = this.config
    if (tls === undefined) return {}
    return { ca: readFileSync(tls.isOfOwnAuthority ? join(dataDir, 'tls', 'authority.pem') : tls.certPath) }
  }

  /** Returns the address of a protocol of `TRANSPORTS`. */
  urlOf(protocol = 'mqtt'): string {
    const address = TRANSPORTS[protocol]
    if (address === undefined) throw new Error(`no address for ${protocol}`)
    return address(this)
  }

  /** Starts it in a new folder, unless the settings name one. */
  async start(): Promise<void> {
    const settings = typeof this.#settings === 'function' ? this.#settings() : this.#settings
    const folder = settings.CARTBARN_DATA_DIR ?? (await newDataFolder())
    this.#config = readConfig({ ...SETTINGS, CARTBARN_DATA_DIR: folder, ...settings })
    this.#gateway = this.#create()
    await this.#gateway.start()
  }

  /** Stops the gateway and everything that the test opened on it; deletes the folder. */
  async stop(): Promise<void> {
    await this.closeClients()
    await this.#started.stop()
    rmSync(this.config.dataDir, { recursive: true, force: true })
  }

  /** Deletes expired data. */
  runRetention(): Promise<void> {
    return this.#started.runRetention()
  }

  reloadCertificate(): Promise<void> {
    return this.#started.reloadCertificate()
  }

  /** Stops cleanly and starts again on the same folder; ports change. Calls `meanwhile` between the two. */
  async restart(meanwhile: () => unknown = () => undefined): Promise<void> {
    await this.closeClients()
    await this.#started.stop()
    await meanwhile()
    this.#gateway = this.#create()
    await this.#gateway.start()
  }

  /**
   * Sends a request through the app itself, without a socket; with the admin's key by default, null for none. Throws if
   * the response does not match the OpenAPI document.
   */
  override async request(
    method: string,
    path: string,
    { key = ADMIN_KEY, body, headers = {} }: Options = {},
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

  /** Creates a user; returns its id and key. */
  async createUser(fields: Record<string, unknown>): Promise<{ userId: string; key: string }> {
    const { status, body } = await this.request('POST', '/users', { body: { name: 'Test', ...fields } })
    if (status !== 201) throw new Error(`no user made: ${JSON.stringify(body)}`)
    return { userId: body.user.user_id, key: body.api_key }
  }

  /**
   * Connects a device (or another user name) over TCP, TLS (`mqtts`) or WebSocket (`ws`); rejects if the login is
   * rejected.
   */
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
    // a rejected topic ends the connection: the test checks that, so the error must not be unhandled
    client.on('error', () => undefined)
    this.#clients.add(client)
    return client
  }

  /** Registers a device and connects it. */
  async device(hardwareId: string, deviceType = 'teebox'): Promise<MqttClient> {
    return this.connect(hardwareId, await this.register(hardwareId, deviceType))
  }

  /** Connects a program with an API key, by default the admin's; rejects if the login is rejected. */
  async program(options: IClientOptions = {}, user?: { userId: string; key: string }): Promise<MqttClient> {
    const { userId, key } = user ?? { userId: await this.adminId(), key: ADMIN_KEY }
    return this.connect(userId, key, { clientId: `program-${++this.#programs}`, ...options })
  }

  async adminId(): Promise<string> {
    const { body } = await this.get('/users')
    return body.find(({ name }: { name: string }) => name === 'Admin').user_id
  }

  /** Signs a browser in, by default with the admin's key; throws if it is rejected. */
  async signIn(proof: object = { api_key: ADMIN_KEY }): Promise<Browser> {
    const answer = await this.request('POST', '/sessions', { key: null, body: proof })
    if (answer.status !== 201) throw new Error(`not signed in: ${JSON.stringify(answer.body)}`)
    return new Browser(this, answer)
  }

  /** Signs a browser in as a user, by a pairing code. */
  async pair(userId: string, name = 'Tablet'): Promise<Browser> {
    const { body } = await this.request('POST', '/pairing-codes', { body: { user_id: userId, name } })
    return this.signIn({ code: body.code })
  }

  /** Opens `/realtime` with given headers, such as those of a browser. */
  async realtimeWith(headers: Record<string, string>): Promise<RealtimeClient> {
    const client = await RealtimeClient.open(`${this.http.replace('http', 'ws')}/realtime`, headers, this.trust)
    this.#sockets.add(client)
    return client
  }

  /** Opens `/realtime`; rejects if the upgrade is rejected. */
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

  /** Returns the responses documented in `/openapi.json`. */
  async documented(): Promise<DocumentedAnswers> {
    if (documentedAnswers !== undefined) return documentedAnswers
    const text = await onceARun('openapi.json', async () => (await this.app.request('/openapi.json')).text())
    // the gateway made it as one
    documentedAnswers = new DocumentedAnswers(JSON.parse(String(text)) as OpenApiDocument)
    return documentedAnswers
  }

  #address(protocol: string): string {
    const { mqtt, mqtts } = this.#started.addresses()
    const address = { mqtt, mqtts }[protocol]
    if (address === undefined) throw new Error(`the gateway has no ${protocol}`)
    return address
  }

  get #started(): Gateway {
    if (this.#gateway === undefined) throw new Error('the gateway was not started')
    return this.#gateway
  }

  #create(): Gateway {
    const own: Overrides = {
      tickMs: TICK_MS,
      // independent of the host of the test, and of a build of the app
      hardwareTimesMs: () => [],
      dashboardDir: join(this.config.dataDir, 'no-app'),
      machineRoot: join(this.config.dataDir, 'no-machine'),
    }
    return createGateway(this.config, createLog('silent'), { ...own, ...this.#overrides })
  }
}

/** Base of requests without a socket. */
const ORIGIN = 'http://localhost'

/** Signed-in browser: it sends its cookie and the origin of its page. */
export class Browser extends Requests {
  readonly cookie: string
  readonly sessionId: string
  readonly #gateway: TestGateway

  constructor(gateway: TestGateway, { headers, body }: Answer) {
    super()
    this.#gateway = gateway
    this.cookie = headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    this.sessionId = body.session.session_id
  }

  /** Sends a request; `origin` null sends no origin. */
  override request(
    method: string,
    path: string,
    { body, origin = ORIGIN, headers = {} }: Options = {},
  ): Promise<Answer> {
    return this.#gateway.request(method, path, {
      key: null,
      body,
      headers: { cookie: this.cookie, ...(origin === null ? {} : { origin }), ...headers },
    })
  }

  /** Returns the response of GET /me. */
  async me(): Promise<Answer['body']> {
    return (await this.request('GET', '/me')).body
  }

  /** Signs a user in with a PIN. */
  act(userId: string, pin: string): Promise<Answer> {
    return this.request('POST', '/sessions/current/person', { body: { user_id: userId, pin } })
  }

  /** Opens `/realtime`. */
  realtime(): Promise<RealtimeClient> {
    return this.#gateway.realtimeWith({ cookie: this.cookie, origin: this.#gateway.http })
  }
}

/** Four times the real rate, because tests wait for the effects. */
export const TICK_MS = 250

/** Settings of a gateway for tests, with limits for everything that one admin does in all tests of a file. */
const SETTINGS = {
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
}

/** Starts a gateway for tests: silent, on 127.0.0.1 and on free ports, unless `settings` overrides it. */
export async function startGateway(settings: Settings = {}, overrides: Overrides = {}): Promise<TestGateway> {
  const gateway = new TestGateway(settings, overrides)
  await gateway.start()
  return gateway
}

/** Starts a gateway of one test, which stops with it. */
export async function startFor(
  t: TestContext,
  settings: Settings = {},
  overrides: Overrides = {},
): Promise<TestGateway> {
  const gateway = new TestGateway(settings, overrides)
  t.after(() => gateway.stop())
  await gateway.start()
  return gateway
}

/** Creates a folder with an empty database with all tables, whose creation would take a fifth of a start. */
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
  // writes the log into the file
  connection.close()
  const file = readFileSync(path)
  rmSync(folder, { recursive: true })
  return file
}

/** Returns the value of one line of `/metrics`; 0 if it is missing. */
export async function metric(gateway: TestGateway, name: string, label?: string): Promise<number> {
  const { body } = await gateway.request('GET', '/metrics')
  const lines: string[] = body.split('\n')
  const isWanted = (line: string) =>
    label === undefined ? line.startsWith(`${name} `) : line.startsWith(name) && line.includes(`="${label}"}`)
  return Number(lines.find(isWanted)?.split(' ').at(-1) ?? 0)
}
