import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import type { SampleHistory } from '#scripts/rig/load/history-check.ts'

/** Alternative that receives the messages of a fleet. */
export interface Peer extends SampleHistory {
  readonly name: string
  /** MQTT port; changes with each start. */
  readonly port: number
  /** Ids of its root processes; all others descend from them. */
  readonly pids: readonly number[]
  readonly devices: readonly BenchDevice[]
  /** Samples stored since some time before the load. */
  stored(): Promise<number>
  /** Kills all its processes with `kill -9`. */
  kill(): Promise<void>
  /** Restarts on the data left by the kill; resolves when it stores nothing more of that. */
  recover(): Promise<void>
  stop(): Promise<void>
}
