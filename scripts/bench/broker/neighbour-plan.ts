import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import type { ConnectFields } from '#testing/mqtt-packets.ts'

const KEEP_ALIVE_S = 600

/** Clients that behave badly. */
export const BAD_NEIGHBOURS = [
  'stalled-reader',
  'wide-subscriber',
  'publisher-qos0',
  'publisher-qos1',
  'flooding-device',
  'half-open',
  'wrong-passwords',
] as const

/** A kind of client that a fleet may have to live beside. */
export type NeighbourKind = (typeof BAD_NEIGHBOURS)[number] | 'regulars'

/** What a neighbour needs. */
export interface NeighbourPlan {
  port: number
  /** An admin's, by API key. */
  login: BenchLogin
  /** A device of its own. */
  device: BenchDevice
  /** It ends by itself after this, whatever happens. */
  lifeS: number
}

/** What a neighbour did, by name, and the CPU seconds it took. */
export interface NeighbourResult {
  counts: Record<string, number>
  cpuS: number
}

/** Counts what a neighbour does. */
export type Count = (name: string) => void

/** How a client of a user, not of a device, connects. */
export function connectFields(login: BenchLogin, clientId: string, cleanSession = true): ConnectFields {
  return { clientId, ...login, clean: cleanSession, keepaliveS: KEEP_ALIVE_S }
}
