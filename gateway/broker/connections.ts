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
  /** The client that is logged in with a client id. */
  connectedClient: (clientId: string) => Client | undefined
  refusals: Refusals
}

/** All network connections, their owners, and what each owner may still open. */
export class Connections<Login> {
  readonly #deps: ConnectionsDeps<Login>
  /** Outlives the connection: its last will comes after its end. */
  readonly #known = new WeakMap<Client, Connection<Login>>()
  readonly #open = new Set<Connection<Login>>()

  constructor(deps: ConnectionsDeps<Login>) {
    this.#deps = deps
  }

  /** All that are open, logged in or not. */
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
    // Aedes asks with a client or with nothing but its id, of which nothing is noted
    return this.#known.get(client as Client)?.identity
  }

  /** Closes all of an owner, also those whose login has been judged and not answered yet. */
  closeOwned(owner: string): void {
    for (const connection of this.#open) {
      if (connection.owner === owner) connection.client.close()
    }
  }

  /** Counts one among those of its owner, until it is over; tells why when the owner has as many as it may. */
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

  /** Gives back its place among those of its owner; may be called twice. */
  uncount(connection: Connection<Login>): void {
    if (!connection.isCounted || connection.identity === undefined) return
    connection.isCounted = false
    this.#deps.budgets.connections.release(connection.identity.owner)
  }

  /** Its stream is closed. */
  over(connection: Connection<Login>): void {
    this.#open.delete(connection)
    if (connection.identity === undefined) return
    this.uncount(connection)
    this.#deps.sessions.abandon(connection.identity.session)
  }

  /** Milliseconds for which one is not to be read, because of what its owner has sent. */
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

  /** Counts what a client is refused, and says it in the log. */
  refuse(client: Client, reason: string, topic?: string): void {
    this.#deps.refusals.add(reason, {
      address: this.#known.get(client)?.address ?? 'unknown',
      clientId: printable(givenClientId(client.id ?? '')),
      ...(topic === undefined ? {} : { topic: printable(topic) }),
    })
  }
}
