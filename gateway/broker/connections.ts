import type { Client } from 'aedes'
import type { BrokerPort } from '#domain/broker-port.ts'
import { givenClientId } from './client-ids.ts'
import type { Connection, Identity } from './connection.ts'
import type { BrokerBudgets, LIMIT_REFUSALS } from './limits.ts'
import type { Sessions } from './mqtt-sessions/sessions.ts'
import { printable, type Refusals } from './status/refusals.ts'

interface ConnectionsDeps<Login> {
  sessions: Sessions
  budgets: Pick<BrokerBudgets, 'connections' | 'sessions' | 'messages'>
  port: () => Pick<BrokerPort<Login>, 'mayUseReserve' | 'debtOf'>
  connectedClient: (clientId: string) => Client | undefined
  refusals: Refusals
}

/** All network connections, their owners, and how many more each owner may open. */
export class Connections<Login> {
  readonly #deps: ConnectionsDeps<Login>
  /** Remains after the connection ends, because the will follows. */
  readonly #known = new WeakMap<Client, Connection<Login>>()
  readonly #open = new Set<Connection<Login>>()

  constructor(deps: ConnectionsDeps<Login>) {
    this.#deps = deps
  }

  /** Open connections, logged in or not. */
  get open(): ReadonlySet<Connection<Login>> {
    return this.#open
  }

  add(connection: Connection<Login>): void {
    this.#known.set(connection.client, connection)
    this.#open.add(connection)
  }

  of(client: Client): Connection<Login> | undefined {
    return this.#known.get(client)
  }

  withClientId(clientId: string): Connection<Login> | undefined {
    const client = this.#deps.connectedClient(clientId)
    return client && this.#known.get(client)
  }

  identityOf(client: Pick<Client, 'id'>): Identity<Login> | undefined {
    // Aedes sometimes passes an object with only an id, which is unknown here
    return this.#known.get(client as Client)?.identity
  }

  closeOwned(owner: string): void {
    for (const connection of this.#open) {
      if (connection.owner === owner) connection.client.close()
    }
  }

  /** Counts a connection towards its owner until it ends; returns the reason if the owner has reached a limit. */
  admit(connection: Connection<Login>, owner: string): (typeof LIMIT_REFUSALS)[number] | undefined {
    const { sessions, budgets, port } = this.#deps
    const { clean, id } = connection.client
    const isNew = !clean && sessions.get(id) === undefined
    if (isNew && !budgets.sessions.allows(sessions.keptBy(owner))) return 'too_many_sessions_of_owner'
    const mayUseReserve = port().mayUseReserve(owner)
    if (!budgets.connections.take(owner, { mayUseReserve })) return 'too_many_connections_of_owner'
    connection.isCounted = true
    return undefined
  }

  /** Stops counting a connection towards its owner; may be called twice. */
  uncount(connection: Connection<Login>): void {
    if (!connection.isCounted || connection.identity === undefined) return
    connection.isCounted = false
    this.#deps.budgets.connections.release(connection.identity.owner)
  }

  /** Handles the close of its stream. */
  over(connection: Connection<Login>): void {
    this.#open.delete(connection)
    if (connection.identity === undefined) return
    this.uncount(connection)
    this.#deps.sessions.abandon(connection.identity.session)
  }

  /** Returns the time in ms for which a connection must not be read, because of what its owner has sent. */
  throttleMs(connection: Connection<Login>): number {
    if (connection.identity === undefined) return 0
    const { budgets, port, refusals } = this.#deps
    const { owner } = connection.identity
    const messagesMs = budgets.messages.debtMs(owner)
    if (messagesMs > 0) refusals.counts.add('throttled')
    const debt = port().debtOf(owner)
    if (debt !== undefined) this.refuse(connection.client, debt.reason)
    const waitMs = Math.max(messagesMs, debt?.waitMs ?? 0)
    if (waitMs > 0) connection.throttled++
    return waitMs
  }

  /** Counts and logs a refusal. */
  refuse(client: Client, reason: string, topic?: string): void {
    this.#deps.refusals.add(reason, {
      address: this.#known.get(client)?.address ?? 'unknown',
      clientId: printable(givenClientId(client.id ?? '')),
      ...(topic === undefined ? {} : { topic: printable(topic) }),
    })
  }
}
