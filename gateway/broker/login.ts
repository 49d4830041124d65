import type { AuthenticateError, Client, ConnectPacket } from 'aedes'
import type { BrokerPort } from '#domain/broker-port.ts'
import { isTopicName } from '#domain/mqtt-topics.ts'
import type { Counter } from '#shared/counter.ts'
import { newUuid } from '#shared/ids.ts'
import { pauseUntilConnack, requestedWill } from './aedes-internals.ts'
import { ownClientId } from './client-ids.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import type { Sessions } from './mqtt-sessions/sessions.ts'

/** CONNACK return codes of MQTT 3.1.1, table 3.1. */
const IDENTIFIER_REJECTED = 2
const SERVER_UNAVAILABLE = 3
const BAD_USER_NAME_OR_PASSWORD = 4
const NOT_AUTHORIZED = 5
type ReturnCode = typeof IDENTIFIER_REJECTED | typeof BAD_USER_NAME_OR_PASSWORD | typeof NOT_AUTHORIZED

const CLIENT_ID_MAX = 256
/** While the disk is behind, nothing is read, which would disconnect a client with a shorter keepalive. */
const KEEPALIVE_MIN_S = 5
const KEEPALIVE_MAX_S = 600

interface LoginsDeps<Login> {
  connections: Connections<Login>
  sessions: Sessions
  port: () => BrokerPort<Login>
  refused: Counter
  maxTopicLevels: number
  /** Closes the connection that has the client id of another, and calls `done` when it is unregistered. */
  closePreviousSession: (successor: Connection<Login>, done: () => void) => void
}

/** Decides on each CONNECT: the identity and session of the client, or the time of the refusal. */
export class Logins<Login> {
  readonly #deps: LoginsDeps<Login>

  constructor(deps: LoginsDeps<Login>) {
    this.#deps = deps
  }

  /** Implements Aedes' `preConnect`: CONNECT has been read. */
  begin(client: Client, packet: ConnectPacket, done: (error: Error | null, isFine: boolean) => void): void {
    const connection = this.#deps.connections.of(client)
    if (connection === undefined) {
      // never `done(null, false)`, which would leave the socket open permanently
      done(new Error('not handled here'), false)
      return
    }
    // reads nothing more until CONNACK: Aedes would handle a second chunk before it has authenticated
    pauseUntilConnack(client)
    packet.keepalive = clampKeepalive(packet.keepalive)
    connection.keepaliveS = packet.keepalive
    connection.isUnnamed = packet.clientId === ''
    // [MQTT-3.1.3-6]
    if (connection.isUnnamed) packet.clientId = `auto-${newUuid()}`
    done(null, true)
  }

  /** Implements Aedes' `authenticate`. */
  decide(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
    done: (error: AuthenticateError | null, isFine: boolean) => void,
  ): void {
    const { connections, port, maxTopicLevels, closePreviousSession } = this.#deps
    const connection = connections.of(client)
    if (connection === undefined) return
    const { isUnnamed, address } = connection
    const will = requestedWill(client)
    const outcome = decideLogin(
      { clientId: client.id, isClean: client.clean, isUnnamed, address, will, username, password },
      { port: port(), maxTopicLevels },
    )
    if ('reason' in outcome) {
      const { reason, returnCode } = outcome
      connections.refuse(client, reason)
      this.#answerLater(connection, username, () => done(withCode(reason, returnCode), false))
      return
    }
    const { login, owner, clientId } = outcome
    connection.owner = owner
    // storing and takeovers use this id
    client.id = clientId
    closePreviousSession(connection, () => {
      // its close event has passed, so nothing would release its resources; Aedes does not continue either
      if (client.closed) return
      const refusal = connections.admit(connection, owner)
      if (refusal !== undefined) {
        connections.refuse(client, refusal)
        done(withCode(refusal, SERVER_UNAVAILABLE), false)
        return
      }
      this.#letIn(connection, login, owner)
      done(null, true)
    })
  }

  /** Delays the response to a failed login, if its address or user name has had too many failures. */
  #answerLater(connection: Connection<Login>, username: string | undefined, answer: () => void): void {
    const holdMs = connection.onLoginFailed(username)
    if (holdMs > 0) this.#deps.refused.add('too_many_failed_logins')
    if (holdMs > 0) setTimeout(answer, holdMs).unref()
    else answer()
  }

  #letIn(connection: Connection<Login>, login: Login, owner: string): void {
    const { sessions } = this.#deps
    const { id, clean } = connection.client
    const session = clean ? sessions.createTransient(id, owner) : (sessions.get(id) ?? sessions.create(id, owner))
    connection.identity = { login, owner, session }
    connection.onLoggedIn()
  }
}

function withCode(reason: string, returnCode: number): AuthenticateError {
  return Object.assign(new Error(reason), { returnCode })
}

function clampKeepalive(keepaliveS: number | undefined): number {
  // 0 would mean that a dead connection is never detected
  if (keepaliveS === undefined || keepaliveS === 0) return KEEPALIVE_MAX_S
  return Math.min(Math.max(keepaliveS, KEEPALIVE_MIN_S), KEEPALIVE_MAX_S)
}

interface LoginRequest {
  clientId: string
  isClean: boolean
  /** True if the broker must choose the client id. */
  isUnnamed: boolean
  address: string
  will: { topic: string } | null | undefined
  username: string | undefined
  password: Buffer | undefined
}

interface LoginRules<Login> {
  port: Pick<BrokerPort<Login>, 'login' | 'mayLeaveWill'>
  maxTopicLevels: number
}

/** Returns the identity for a CONNECT and its internal client id, or the reason of the refusal. */
function decideLogin<Login>(
  { clientId, isClean, isUnnamed, address, will, username, password }: LoginRequest,
  { port, maxTopicLevels }: LoginRules<Login>,
): { login: Login; owner: string; clientId: string } | { reason: string; returnCode: ReturnCode } {
  // [MQTT-3.1.3-9]
  if (clientId.length > CLIENT_ID_MAX) return { reason: 'client_id_too_long', returnCode: IDENTIFIER_REJECTED }
  // a session that no client could resume [MQTT-3.1.3-8]
  if (isUnnamed && !isClean) return { reason: 'client_id_missing', returnCode: IDENTIFIER_REJECTED }
  const result = port.login(clientId, username, password, address)
  if (!result.ok) {
    const { reason, isAuthentic = false } = result
    if (reason === 'client_id_mismatch') return { reason, returnCode: IDENTIFIER_REJECTED }
    return { reason, returnCode: isAuthentic ? NOT_AUTHORIZED : BAD_USER_NAME_OR_PASSWORD }
  }
  const { login, owner, isClientIdUnique = false } = result
  // Aedes checks this for all other topics
  if (will && will.topic.split('/').length > maxTopicLevels)
    return { reason: 'too_many_topic_levels', returnCode: NOT_AUTHORIZED }
  if (will && !(isTopicName(will.topic) && port.mayLeaveWill(login, will.topic)))
    return { reason: 'will_not_writable', returnCode: NOT_AUTHORIZED }
  return { login, owner, clientId: isClientIdUnique ? clientId : ownClientId(owner, clientId) }
}
