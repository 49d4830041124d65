import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { Broker, type BrokerOptions } from '#broker/broker.ts'
import type { SessionJournal } from '#broker/mqtt-sessions/sessions.ts'
import { ReadGate } from '#broker/read-gate.ts'
import type { BrokerPort } from '#domain/broker-port.ts'
import { Ceiling } from '#shared/budgets/ceiling.ts'
import { Rates } from '#shared/budgets/rates.ts'
import { Slots } from '#shared/budgets/slots.ts'
import { createLog, type Log } from '#shared/log.ts'
import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'
import { Connection } from '#store/db/connection.ts'
import { migrate } from '#store/migrate.ts'
import { applySessionChange, loadMqttSessions } from '#store/tables/mqtt-sessions.ts'
import { HeldDisk } from './held-disk.ts'
import { RawMqtt } from './raw-mqtt.ts'

interface OpenBrokerOptions {
  port?: Partial<BrokerPort<object>>
  options?: Partial<BrokerOptions>
  journal?: SessionJournal
  disk?: HeldDisk
  clock?: Clock & MonotonicClock
  log?: Log
}

const OPTIONS: BrokerOptions = {
  maxPayloadBytes: 65_536,
  maxUnreadBytes: 262_144,
  maxSubscriptions: 100,
  maxTopicLevels: 12,
  hasFastLane: true,
  connectTimeoutMs: 10_000,
  maxReceiving: 100,
  sessions: {
    outbox: { inFlight: 100, messages: 1000, bytes: 1_048_576 },
    queued: { messages: 100_000, bytes: 67_108_864 },
    retained: { messages: 1000, bytes: 1_048_576 },
    expiryDays: 30,
  },
}

/** Creates a journal on a database in memory, which outlives the broker that writes it. */
export function createJournal(disk: HeldDisk): SessionJournal {
  const connection = new Connection(new Database(':memory:'))
  migrate(connection)
  return {
    load: () => loadMqttSessions(connection),
    append: (changes, onStored) => {
      disk.write(() => {
        for (const change of changes) applySessionChange(connection, change)
        onStored()
      })
    },
  }
}

/** Broker alone, on a free port; every client may do everything unless `port` restricts it. */
export class OpenBroker {
  readonly disk: HeldDisk
  readonly journal: SessionJournal
  readonly broker: Broker<object>
  /** Number of device messages received. */
  taken = 0
  readonly #port: BrokerPort<object>
  readonly #server: Server
  readonly #streams = new Set<Duplex>()

  private constructor({ port, options, journal, clock, log, disk = new HeldDisk() }: OpenBrokerOptions) {
    this.disk = disk
    this.journal = journal ?? createJournal(disk)
    this.#port = {
      login: () => ({ ok: true, login: {}, owner: 'anybody', isClientIdUnique: true }),
      resume: () => ({}),
      mayUseReserve: () => false,
      canSubscribe: () => true,
      canRead: () => true,
      publishRight: () => 'message',
      mayLeaveWill: () => true,
      connected: () => undefined,
      subscribed: () => undefined,
      disconnected: () => undefined,
      contested: () => undefined,
      receive: (_login, _uplinked, changes, onStored, onRefused) => {
        this.taken++
        this.journal.append(changes, onStored, onRefused)
        return 1
      },
      refused: () => undefined,
      telemetryTopic: () => undefined,
      beginRun: () => undefined,
      debtOf: () => undefined,
      ...port,
    }
    this.broker = new Broker({
      journal: this.journal,
      gate: new ReadGate(() => false),
      options: { ...OPTIONS, ...options },
      budgets: {
        connections: new Slots({ perOwner: Number.POSITIVE_INFINITY }),
        sessions: new Ceiling(Number.POSITIVE_INFINITY),
        subscriptions: new Ceiling(Number.POSITIVE_INFINITY),
        messages: new Rates({ perSecond: 0, burst: 0 }),
      },
      clock: clock ?? systemClock,
      log: log ?? createLog('silent'),
    })
    this.#server = createServer((socket) => this.handle(socket))
  }

  static async start(options: OpenBrokerOptions = {}): Promise<OpenBroker> {
    const opened = new OpenBroker(options)
    await opened.broker.start(opened.#port)
    opened.#server.listen(0, '127.0.0.1')
    await once(opened.#server, 'listening')
    return opened
  }

  get url(): string {
    return urlOf(this.#server)
  }

  get connectedClients(): number {
    return this.broker.connectedClients
  }

  handle(stream: Duplex, address = 'test'): void {
    this.#streams.add(stream)
    this.broker.handle(stream, address)
  }

  publish(topic: string, payload: string): void {
    this.broker.publish(topic, payload)
  }

  async hasWill(clientId: string): Promise<boolean> {
    return this.broker.sessions.wills.has(clientId)
  }

  async stop(): Promise<void> {
    this.disk.release()
    this.#server.close()
    await this.broker.stop()
    for (const stream of this.#streams) stream.destroy()
  }
}

export function urlOf(server: Server): string {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return `mqtt://127.0.0.1:${address.port}`
}

/** Starts a broker that stops after the test. */
export async function startBroker(t: TestContext, options: OpenBrokerOptions = {}): Promise<OpenBroker> {
  const opened = await OpenBroker.start(options)
  t.after(() => opened.stop())
  return opened
}

/** Connects and logs in a client. */
export async function connectTo({ url }: Pick<OpenBroker, 'url'>, clientId: string, clean = true): Promise<RawMqtt> {
  const client = await RawMqtt.open(url)
  assert.equal(await client.login({ clientId, clean }), 0)
  return client
}
