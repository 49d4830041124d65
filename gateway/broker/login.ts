import { isTopicName } from '#domain/mqtt-topics.ts'
import type { BrokerPort } from './broker-port.ts'
import { ownClientId } from './client-ids.ts'

/** CONNACK return codes of MQTT 3.1.1, table 3.1. */
const IDENTIFIER_REJECTED = 2
export const SERVER_UNAVAILABLE = 3
const BAD_USER_NAME_OR_PASSWORD = 4
const NOT_AUTHORIZED = 5
type ReturnCode = typeof IDENTIFIER_REJECTED | typeof BAD_USER_NAME_OR_PASSWORD | typeof NOT_AUTHORIZED

const CLIENT_ID_MAX = 256

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

/** Whom a CONNECT lets in, and under which client id the broker keeps it; or why nobody. */
export function judgeLogin<Login>(
  { clientId, isClean, isUnnamed, address, will, username, password }: LoginRequest,
  { port, maxTopicLevels }: LoginRules<Login>,
): { login: Login; owner: string; clientId: string } | { reason: string; returnCode: ReturnCode } {
  // [MQTT-3.1.3-9]
  if (clientId.length > CLIENT_ID_MAX)
    return { reason: 'client_id_too_long', returnCode: IDENTIFIER_REJECTED }
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
