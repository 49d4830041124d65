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
/** While the disk is behind nothing is read: a client that must be heard more often would be cut off for it. */
const KEEPALIVE_MIN_S = 5
const KEEPALIVE_MAX_S = 600

interface LoginsDeps<Login> {
  connections: Connections<Login>
  sessions: Sessions
  port: () => BrokerPort<Login>
  refused: Counter
  maxTopicLevels: number
  /** Closes the connection whose client id another takes, and calls back when it is off the list. */
  closePreviousSession: (successor: Connection<Login>, done: () => void) => void
}

/** Decides on each CONNECT: who is logged in and with which session, or when the refusal is sent. */
export class Logins<Login> {
  readonly #deps: LoginsDeps<Login>

  constructor(deps: LoginsDeps<Login>) {
    this.#deps = deps
  }

  /** Aedes' `preConnect`: CONNECT has been read. */
  begin(client: Client, packet: ConnectPacket, done: (error: Error | null, isFine: boolean) => void): void {
    const connection = this.#deps.connections.of(client)
    if (connection === undefined) {
      // never `done(null, false)`: that leaves the socket open for ever
      done(new Error('not handled here'), false)
      return
    }
    // until CONNACK nothing more is read: Aedes would handle what comes in a second chunk before it has authenticated
    pauseUntilConnack(client)
    packet.keepalive = clampKeepalive(packet.keepalive)
    connection.keepaliveS = packet.keepalive
    connection.isUnnamed = packet.clientId === ''
    // [MQTT-3.1.3-6]
    if (connection.isUnnamed) packet.clientId = `auto-${newUuid()}`
    done(null, true)
  }

  /** Aedes' `authenticate`. */
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
    // what is written down and who is taken over goes by it
    client.id = clientId
    closePreviousSession(connection, () => {
      // its end has passed, so no event would release what it takes; Aedes does not go on with it either
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

  /** A failed login is left without an answer for a while, when its address or user name has had too many. */
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
  // 0 would mean a dead connection is never noticed
  if (keepaliveS === undefined || keepaliveS === 0) return KEEPALIVE_MAX_S
  return Math.min(Math.max(keepaliveS, KEEPALIVE_MIN_S), KEEPALIVE_MAX_S)
}

/** What a CONNECT says of who is there. */
interface LoginRequest {
  clientId: string
  isClean: boolean
  /** The client id was left to the broker. */
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

/** Who a CONNECT logs in, and under which client id the broker keeps it; or why it is refused. */
function decideLogin<Login>(
  { clientId, isClean, isUnnamed, address, will, username, password }: LoginRequest,
  { port, maxTopicLevels }: LoginRules<Login>,
): { login: Login; owner: string; clientId: string } | { reason: string; returnCode: ReturnCode } {
  // [MQTT-3.1.3-9]
  if (clientId.length > CLIENT_ID_MAX) return { reason: 'client_id_too_long', returnCode: IDENTIFIER_REJECTED }
  // a session nobody could name again [MQTT-3.1.3-8]
  if (isUnnamed && !isClean) return { reason: 'client_id_missing', returnCode: IDENTIFIER_REJECTED }
  const result = port.login(clientId, username, password, address)
  if (!result.ok) {
    const { reason, isAuthentic = false } = result
    if (reason === 'client_id_mismatch') return { reason, returnCode: IDENTIFIER_REJECTED }
    return { reason, returnCode: isAuthentic ? NOT_AUTHORIZED : BAD_USER_NAME_OR_PASSWORD }
  }
  const { login, owner, isClientIdUnique = false } = result
  // Aedes asks this of every other topic
  if (will && will.topic.split('/').length > maxTopicLevels)
    return { reason: 'too_many_topic_levels', returnCode: NOT_AUTHORIZED }
  if (will && !(isTopicName(will.topic) && port.mayLeaveWill(login, will.topic)))
    return { reason: 'will_not_writable', returnCode: NOT_AUTHORIZED }
  return { login, owner, clientId: isClientIdUnique ? clientId : ownClientId(owner, clientId) }
}
