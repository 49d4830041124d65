import { isUtf8 } from 'node:buffer'
import type { EventEmitter } from 'node:events'
import type { Client } from 'aedes'
import { isTopicFilter } from '#domain/mqtt-topics.ts'
import type { AcknowledgementType } from './mqtt-sessions/outbox.ts'

/** A packet that has been read, as far as it is looked at here. */
interface ReadPacket {
  cmd: string
  length: number
  qos: number
  dup: boolean
  messageId?: number
  username?: string
  password?: Buffer
  will?: { qos: number }
  subscriptions?: { topic: string }[]
  unsubscriptions?: string[]
}

/** The parser of mqtt-packet 9.0.2: its steps, and how far they have come in the packet they are at. */
interface Parser extends EventEmitter {
  packet: ReadPacket
  error: Error | null
  _list: {
    slice(start: number, end: number): Buffer
    toString(encoding: 'utf8', start: number, end: number): string
    readUInt16BE(at: number): number
    /** Both throw past the end. */
    readUInt8(at: number): number
  }
  _pos: number
  _parseHeader(): boolean
  _parsePayload(): boolean
  _parseConnect(): unknown
  _parseString(): string | null
  _emitError(error: Error): void
}

/** The level that goes with each protocol name: MQTT 3.1.1 and MQTT 3.1. */
const LEVELS = new Map([
  ['MQTT', 4],
  ['MQIsdp', 3],
])

interface ProtocolRules {
  /** Whether an acknowledgement is of the type that the message under way asks for. */
  isExpected(type: AcknowledgementType, packetId: number): boolean
  onViolation(): void
  /** Gets the client id, if the packet is one of MQTT 5. */
  onUnsupported(clientId: string | undefined): void
}

/**
 * Ends a connection on packets the standard forbids and mqtt-packet lets through [MQTT-4.8.0-1], and has levels that are
 * not supported answered with return code 1 [MQTT-3.1.2-2].
 */
export function guardProtocol(
  client: Client,
  { isExpected, onViolation, onUnsupported }: ProtocolRules,
): void {
  // not published by Aedes; the tests that name the statements of the standard would show a change
  const parser = (client as unknown as { _parser: Parser })._parser
  const parseHeader = parser._parseHeader.bind(parser)
  const parsePayload = parser._parsePayload.bind(parser)
  const parseConnect = parser._parseConnect.bind(parser)
  const parseString = parser._parseString.bind(parser)
  let isOver = false
  parser.on('error', onViolation)

  // nothing may come after DISCONNECT [MQTT-3.14.4-2]
  parser._parseHeader = () => !isOver && parseHeader()

  parser._parsePayload = () => {
    const isWhole = parsePayload()
    if (!isWhole || parser.error !== null) return isWhole
    const fault = faultOf(parser.packet, parser._pos) ?? acknowledgementFaultOf(parser.packet, isExpected)
    if (fault !== undefined) parser._emitError(new Error(fault))
    isOver = parser.packet.cmd === 'disconnect'
    answerEach(parser.packet)
    return true
  }

  parser._parseConnect = () => {
    if (isSupported(parser)) return parseConnect()
    onUnsupported(clientIdOfMqtt5(parser))
    // Aedes answers 1 to a version it does not know; what else such a packet says is not for us to read
    parser._pos = parser.packet.length
    return Object.assign(parser.packet, { protocolVersion: 0, clientId: '', clean: true, keepalive: 0 })
  }

  parser._parseString = () => {
    const startsAt = parser._pos + 2
    const text = parseString()
    if (text === null || text.includes('\0')) return null
    // in the place of bytes that are no UTF-8 stands U+FFFD, which may be meant as well
    return text.includes('\uFFFD') && !isUtf8(parser._list.slice(startsAt, parser._pos)) ? null : text
  }
}

function faultOf(packet: ReadPacket, endsAt: number): string | undefined {
  const { cmd, length, messageId, subscriptions, unsubscriptions } = packet
  if (cmd === 'publish' ? endsAt > length : endsAt !== length) return 'length is not that of the fields'
  // [MQTT-2.3.1-1]
  if (messageId !== undefined && messageId < 1) return 'no packet identifier'
  // [MQTT-3.3.1-2]
  if (cmd === 'publish' && packet.qos === 0 && packet.dup) return 'DUP with QoS 0'
  // [MQTT-3.1.2-14]
  if (packet.will !== undefined && packet.will.qos > 2) return 'will QoS 3'
  // [MQTT-3.1.2-22]
  if (packet.password !== undefined && packet.username === undefined) return 'password without user name'
  const filters = subscriptions?.map(({ topic }) => topic) ?? unsubscriptions
  // [MQTT-3.8.3-3] [MQTT-3.10.3-2]
  if (filters?.length === 0) return 'no topic filter'
  // [MQTT-4.7.1-2] [MQTT-4.7.1-3] [MQTT-4.7.3-1]
  return filters?.every(isTopicFilter) === false ? 'malformed topic filter' : undefined
}

function acknowledgementFaultOf(
  { cmd, messageId = 0 }: ReadPacket,
  isExpected: ProtocolRules['isExpected'],
): string | undefined {
  if (cmd !== 'puback' && cmd !== 'pubrec' && cmd !== 'pubcomp') return undefined
  return isExpected(cmd, messageId) ? undefined : `${cmd} is not what the message asks for`
}

/** Whether CONNECT names a protocol and level to go on with; a name that is unknown is for the parser to refuse. */
function isSupported({ _list, packet }: Parser): boolean {
  const levelAt = packet.length < 2 ? packet.length : 2 + _list.readUInt16BE(0)
  if (levelAt >= packet.length) return true
  const level = LEVELS.get(_list.toString('utf8', 2, levelAt))
  return level === undefined || level === _list.readUInt8(levelAt)
}

/** The client id of a CONNECT of MQTT 5, where properties come before it; undefined when this is none. */
function clientIdOfMqtt5({ _list, packet }: Parser): string | undefined {
  const levelAt = 2 + _list.readUInt16BE(0)
  if (_list.readUInt8(levelAt) !== 5) return undefined
  // behind the level, the flags and the keepalive: a length of up to four bytes, 7 bits in each
  let at = levelAt + 4
  let propertiesLength = 0
  for (let shift = 0; shift < 28 && at < packet.length; shift += 7) {
    const byte = _list.readUInt8(at++)
    propertiesLength |= (byte & 127) << shift
    if (byte < 128) break
  }
  const startsAt = at + propertiesLength + 2
  if (startsAt > packet.length) return undefined
  const endsAt = startsAt + _list.readUInt16BE(startsAt - 2)
  return endsAt > packet.length ? undefined : _list.toString('utf8', startsAt, endsAt)
}

/** Aedes would take a topic filter that comes twice out of SUBSCRIBE, and SUBACK would lack a code [MQTT-3.8.4-5]. */
function answerEach(packet: ReadPacket): void {
  const { subscriptions } = packet
  if (subscriptions === undefined || subscriptions.length === 1) return
  if (new Set(subscriptions.map(({ topic }) => topic)).size === subscriptions.length) return
  Object.defineProperty(packet, 'subscriptions', { get: () => subscriptions, set: () => undefined })
}
