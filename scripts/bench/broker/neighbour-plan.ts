import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import type { ConnectFields } from '#testing/mqtt-packets.ts'

const KEEP_ALIVE_S = 600

export const BAD_NEIGHBOURS = [
  'stalled-reader',
  'wide-subscriber',
  'publisher-qos0',
  'publisher-qos1',
  'flooding-device',
  'half-open',
  'wrong-passwords',
] as const

/** Kind of client that a fleet may share its broker with. */
export type NeighbourKind = (typeof BAD_NEIGHBOURS)[number] | 'regulars'

export interface NeighbourPlan {
  port: number
  /** Login of an admin, by API key. */
  login: BenchLogin
  /** Device that only this client uses. */
  device: BenchDevice
  /** Time after which it ends in any case. */
  lifeS: number
}

/** Number of operations of a noisy client, by name, and the CPU seconds it used. */
export interface NeighbourResult {
  counts: Record<string, number>
  cpuS: number
}

export type Count = (name: string) => void

/** CONNECT fields of a client that signs in as a user, not as a device. */
export function connectFields(login: BenchLogin, clientId: string, cleanSession = true): ConnectFields {
  return { clientId, ...login, clean: cleanSession, keepaliveS: KEEP_ALIVE_S }
}
