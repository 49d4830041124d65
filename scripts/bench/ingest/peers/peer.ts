import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { SampleHistory } from '#scripts/rig/load/history-check.ts'

/** What somebody may run to take the messages of a fleet. */
export interface Peer extends SampleHistory {
  readonly name: string
  /** Of MQTT; another one after each start. */
  readonly port: number
  /** Those that started it all. */
  readonly pids: readonly number[]
  readonly devices: readonly BenchDevice[]
  /** Samples stored since some time before the load. */
  stored(): Promise<number>
  /** `kill -9` of all its processes. */
  kill(): Promise<void>
  /** Starts what was killed on what it left behind; resolves when it stores nothing more of that. */
  recover(): Promise<void>
  stop(): Promise<void>
}
