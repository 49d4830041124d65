import type { Client } from 'aedes'
import { clientInternals } from './aedes-internals.ts'

/** Topic, message id and properties around the largest payload. */
const PACKET_OVERHEAD_BYTES = 1024

/**
 * Ends a connection that announces a packet larger than is allowed. Aedes has no limit and would gather 256 MB from
 * anybody who can connect; the length is known from the fixed header, so nothing is gathered here.
 */
export function guardPacketSize(client: Client, maxPayloadBytes: number, onTooLarge: () => void): void {
  const parser = clientInternals(client)._parser
  const parse = parser.parse.bind(parser)
  parser.parse = (chunk) => {
    const left = parse(chunk)
    if (parser.packet.length > maxPayloadBytes + PACKET_OVERHEAD_BYTES) {
      onTooLarge()
      client.emit('error', new Error('packet too large'))
    }
    return left
  }
}
