import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import type { SampleHistory } from '#scripts/rig/load/history-check.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'

/** Alternative that receives the messages of a fleet. */
export interface Peer extends SampleHistory {
  readonly devices: readonly BenchDevice[]
  /** MQTT port; changes with each start. */
  port(): number
  /** Ids of its root processes; all others descend from them. */
  pids(): number[]
  /** Samples stored since some time before the load. */
  stored(): Promise<number>
  /** Kills all its processes with `kill -9`. */
  kill(): Promise<void>
  /** Restarts on the data left by the kill; resolves when it stores nothing more of that. */
  recover(): Promise<void>
  stop(): Promise<void>
}

/** Starts the gateway, which stores before it acknowledges. */
export async function startGatewayPeer({ bench, entry }: ScenarioContext, devices: number): Promise<Peer> {
  const options = { entry, dataDir: bench.createFolder('peers') }
  let gateway = await startGateway(bench, options)
  return {
    devices: await gateway.api.registerDevices(devices),
    port: () => gateway.ports.mqtt,
    pids: () => [gateway.process.pid],
    stored: () => gateway.api.gpsCount(),
    gpsTimes: (...period) => gateway.api.gpsTimes(...period),
    kill: () => gateway.process.stop('SIGKILL'),
    recover: async () => {
      gateway = await startGateway(bench, options)
    },
    stop: () => gateway.process.stop(),
  }
}
