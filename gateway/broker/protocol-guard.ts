import { isUtf8 } from 'node:buffer'
import type { Client } from 'aedes'
import { isTopicFilter } from '#domain/mqtt-topics.ts'
import { announcedBytes, type ParsedPacket, type Parser, parseWith, readWith } from './aedes-internals.ts'
import type { AcknowledgementType } from './mqtt-sessions/outbox.ts'

/** Space for topic, message id and properties in addition to the largest payload. */
const PACKET_OVERHEAD_BYTES = 1024

/** Level for each protocol name: MQTT 3.1.1 and MQTT 3.1. */
const LEVELS = new Map([
  ['MQTT', 4],
  ['MQIsdp', 3],
])

interface ProtocolRules {
  /** True if an acknowledgement has the type that the message in flight requires. */
  isExpected(type: AcknowledgementType, packetId: number): boolean
  onViolation(): void
  /** Called with the client id, if the packet is a CONNECT of MQTT 5. */
  onUnsupported(clientId: string | undefined): void
}

/**
 * Closes a connection on packets that the standard forbids but mqtt-packet accepts [MQTT-4.8.0-1], and makes Aedes
 * respond to unsupported levels with return code 1 [MQTT-3.1.2-2].
 */
export function guardProtocol(client: Client, { isExpected, onViolation, onUnsupported }: ProtocolRules): void {
  let isOver = false
  parseWith(client, (parser) => {
    parser.on('error', onViolation)
    return {
      // nothing may follow DISCONNECT [MQTT-3.14.4-2]
      header: (parse) => !isOver && parse(),

      payload: (parse) => {
        const isWhole = parse()
        if (!isWhole || parser.error !== null) return isWhole
        const fault = faultOf(parser.packet, parser._pos) ?? acknowledgementFaultOf(parser.packet, isExpected)
        if (fault !== undefined) parser._emitError(new Error(fault))
        isOver = parser.packet.cmd === 'disconnect'
        answerEach(parser.packet)
        return true
      },

      connect: (parse) => {
        if (isSupported(parser)) return parse()
        onUnsupported(clientIdOfMqtt5(parser))
        // Aedes responds 1 to an unknown version; the rest of such a packet is not parsed
        parser._pos = parser.packet.length
        return Object.assign(parser.packet, { protocolVersion: 0, clientId: '', clean: true, keepalive: 0 })
      },

      string: (parse) => {
        const startsAt = parser._pos + 2
        const text = parse()
        if (text === null || text.includes('\0')) return null
        // U+FFFD replaces bytes that are not UTF-8, but may also be part of the text
        return text.includes('\uFFFD') && !isUtf8(parser._list.slice(startsAt, parser._pos)) ? null : text
      },
    }
  })
}

/**
 * Closes a connection that announces a packet larger than allowed. Aedes has no limit and would buffer 256 MB for any
 * client that can connect; the length is known from the fixed header, so nothing is buffered here.
 */
export function guardPacketSize(client: Client, maxPayloadBytes: number, onTooLarge: () => void): void {
  readWith(client, (chunk, parse) => {
    const left = parse(chunk)
    if (announcedBytes(client) > maxPayloadBytes + PACKET_OVERHEAD_BYTES) {
      onTooLarge()
      client.emit('error', new Error('packet too large'))
    }
    return left
  })
}

function faultOf(packet: ParsedPacket, endsAt: number): string | undefined {
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
  { cmd, messageId = 0 }: ParsedPacket,
  isExpected: ProtocolRules['isExpected'],
): string | undefined {
  if (cmd !== 'puback' && cmd !== 'pubrec' && cmd !== 'pubcomp') return undefined
  return isExpected(cmd, messageId) ? undefined : `${cmd} is not what the message asks for`
}

/** True if CONNECT has a supported protocol and level; the parser refuses unknown names. */
function isSupported({ _list, packet }: Parser): boolean {
  const levelAt = packet.length < 2 ? packet.length : 2 + _list.readUInt16BE(0)
  if (levelAt >= packet.length) return true
  const level = LEVELS.get(_list.toString('utf8', 2, levelAt))
  return level === undefined || level === _list.readUInt8(levelAt)
}

/** Returns the client id of a CONNECT of MQTT 5, where properties precede it; undefined for any other. */
function clientIdOfMqtt5({ _list, packet }: Parser): string | undefined {
  const levelAt = 2 + _list.readUInt16BE(0)
  if (_list.readUInt8(levelAt) !== 5) return undefined
  // after the level, the flags and the keepalive: a length of up to four bytes, 7 bits in each
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

/** Aedes would remove a topic filter that occurs twice from SUBSCRIBE, and SUBACK would lack a code [MQTT-3.8.4-5]. */
function answerEach(packet: ParsedPacket): void {
  const { subscriptions } = packet
  if (subscriptions === undefined || subscriptions.length === 1) return
  if (new Set(subscriptions.map(({ topic }) => topic)).size === subscriptions.length) return
  Object.defineProperty(packet, 'subscriptions', { get: () => subscriptions, set: () => undefined })
}
