import type { Random } from '#shared/random.ts'

/** Who a case may be: a registered device. */
export interface Login {
  hardwareId: string
  password: string
}

/** Where the bytes go. */
export type Channel =
  /** MQTT over TCP. */
  | 'tcp'
  /** `/mqtt`: after a handshake every write is a frame. */
  | 'websocket'
  /** The HTTP port, the bytes as they are. */
  | 'http'

/** How a case logs in before its bytes: not at all, in the same write, or waiting for CONNACK. */
export type Entry = 'stranger' | 'pipelined' | 'welcomed'

/** What happens after the last byte. */
export type Ending =
  /** Our side is closed; the gateway has to close its own. */
  | 'half-close'
  /** The connection is broken at once. */
  | 'reset'
  /** A pause first, as of a device that went out of range, then the connection is broken. */
  | 'silence'
  /** PINGREQ, to see all answers, then as `half-close`. */
  | 'ping'
  /** The gateway has to close the connection by itself. */
  | 'close-expected'

/** One attempt to harm the gateway. */
export interface FuzzCase {
  number: number
  kind: string
  device: Login
  channel: Channel
  entry: Entry
  writes: Buffer[]
  ending: Ending
  /** Packet types that must come back, in any order, each as often as it is here. */
  answers: readonly number[]
  /** Connections that do the same at the same time. */
  copies: number
}

/** What a kind decides of a case; the rest is drawn. */
export interface Draft {
  writes: Buffer[]
  channel?: Channel
  entry?: Entry
  ending?: Ending
  answers?: readonly number[]
  copies?: number
}

/** One way to try it. */
export interface Kind {
  name: string
  /** How often it comes, compared with the others. */
  weight: number
  draft(random: Random, device: Login): Draft
}

/** All bytes of a case, the login left out. */
export function bytesOf({ writes }: FuzzCase): Buffer {
  return Buffer.concat(writes)
}
