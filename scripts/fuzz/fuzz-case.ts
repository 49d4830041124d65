import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { Random } from '#shared/random.ts'

/** Identity of a case: a registered device. */
export type Login = BenchDevice

/** Destination of the bytes. */
export type Channel =
  /** MQTT over TCP. */
  | 'tcp'
  /** `/mqtt`: after a handshake every write is a frame. */
  | 'websocket'
  /** The HTTP port, with the bytes unchanged. */
  | 'http'

/** Login of a case before its bytes: none, in the same write, or followed by a wait for CONNACK. */
export type Entry = 'stranger' | 'pipelined' | 'welcomed'

/** Action after the last byte. */
export type Ending =
  /** Our side is closed; the gateway has to close its own. */
  | 'half-close'
  /** The connection is reset immediately. */
  | 'reset'
  /** A pause first, as of a device that went out of range, then the connection is reset. */
  | 'silence'
  /** PINGREQ, to see all responses, then as `half-close`. */
  | 'ping'
  /** The gateway has to close the connection on its own. */
  | 'close-expected'

/** Attempt to harm the gateway. */
export interface FuzzCase {
  number: number
  kind: string
  device: Login
  channel: Channel
  entry: Entry
  writes: Buffer[]
  ending: Ending
  /** Packet types that must be received, in any order, each as often as listed. */
  answers: readonly number[]
  /** Number of connections that do the same at the same time. */
  copies: number
}

/** Fields of a case that its kind determines; the rest is random. */
export interface Draft {
  writes: Buffer[]
  channel?: Channel
  entry?: Entry
  ending?: Ending
  answers?: readonly number[]
  copies?: number
}

export interface Kind {
  name: string
  /** Frequency in comparison with the others. */
  weight: number
  draft(random: Random, device: Login): Draft
}

/** All bytes of a case, without the login. */
export function bytesOf({ writes }: FuzzCase): Buffer {
  return Buffer.concat(writes)
}
