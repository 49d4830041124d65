import type { Client } from 'aedes'
import { interceptPackets, type ReceivedPacket } from './aedes-internals.ts'

/**
 * Ends a connection over packets that the specification forbids and Aedes takes. Some of them mqtt-packet reads beyond
 * their end, so that a part of the next packet would be stored or acknowledged.
 */
export function guardProtocol(client: Client, onViolation: () => void): void {
  interceptPackets(client, (packet, bodyBytesRead) => {
    const problem = protocolProblem(packet, bodyBytesRead)
    if (problem === null) return true
    onViolation()
    client.emit('error', new Error(problem))
    return false
  })
}

function protocolProblem(packet: ReceivedPacket, bodyBytesRead: number): string | null {
  switch (packet.cmd) {
    case 'publish':
      // what is left of the body is the payload
      if (bodyBytesRead > packet.length) return 'packet too short'
      return (packet.qos === 0 ? null : idProblem(packet.messageId)) ?? textProblem(packet.topic)
    case 'connect':
      // Aedes answers MQTT 5 with a return code
      if (packet.protocolVersion === 5) return null
      // [MQTT-3.1.2-14]
      if (packet.will?.qos === 3) return 'QoS 3 of the will'
      return (
        lengthProblem(packet, bodyBytesRead) ??
        textProblem(packet.clientId) ??
        textProblem(packet.username) ??
        textProblem(packet.will?.topic)
      )
    case 'subscribe':
    case 'unsubscribe': {
      const filters = packet.unsubscriptions ?? packet.subscriptions?.map(({ topic }) => topic) ?? []
      // [MQTT-3.8.3-3], [MQTT-3.10.3-2]
      if (filters.length === 0) return 'no topic filter'
      return (
        lengthProblem(packet, bodyBytesRead) ?? idProblem(packet.messageId) ?? textProblem(filters.join())
      )
    }
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return lengthProblem(packet, bodyBytesRead) ?? idProblem(packet.messageId)
    default:
      return lengthProblem(packet, bodyBytesRead)
  }
}

function lengthProblem({ length }: ReceivedPacket, bodyBytesRead: number): string | null {
  return bodyBytesRead === length ? null : 'wrong remaining length'
}

// [MQTT-2.3.1-1]; of an id that is not there mqtt-packet makes -1
function idProblem(messageId: number | undefined): string | null {
  return messageId !== undefined && messageId > 0 ? null : 'no packet identifier'
}

// [MQTT-1.5.3-1], [MQTT-1.5.3-2]; Node decodes what is not UTF-8 as U+FFFD, which nobody has in a topic or a name
function textProblem(text: string | undefined): string | null {
  if (text === undefined) return null
  return text.includes('\ufffd') || text.includes('\u0000') ? 'ill-formed UTF-8' : null
}
