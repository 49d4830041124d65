import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import type { SampleHistory } from '#scripts/rig/load/history-check.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { drawZones, openSockets, startHubInMemory } from '../busy-course.ts'

/** Alternative that receives the messages of a fleet. */
export interface Peer extends SampleHistory {
  readonly devices: readonly BenchDevice[]
  /** True if it stores only after a restart, so that `stored` shows nothing before. */
  readonly storesLater?: boolean
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

/** Starts the gateway, which stores before it acknowledges; with `hasAll` it has zones, sockets and a hub too. */
export async function startGatewayPeer(
  { bench, entry }: ScenarioContext,
  count: number,
  hasAll = false,
): Promise<Peer> {
  const hub = hasAll ? await startHubInMemory(bench) : undefined
  const options = { entry, dataDir: bench.createFolder('peers'), env: hub?.env ?? {} }
  let gateway = await startGateway(bench, options)
  const devices = await gateway.api.registerDevices(count)
  if (hasAll) await drawZones(gateway.api, devices)
  const open = async () => (hasAll ? openSockets(bench, gateway, devices) : undefined)
  let readers = await open()
  return {
    devices,
    port: () => gateway.ports.mqtt,
    pids: () => [gateway.process.pid],
    stored: () => gateway.api.gpsCount(),
    gpsTimes: (...period) => gateway.api.gpsTimes(...period),
    kill: async () => {
      await gateway.process.stop('SIGKILL')
      await readers?.stop()
    },
    recover: async () => {
      gateway = await startGateway(bench, options)
      readers = await open()
    },
    stop: async () => {
      await readers?.stop()
      await gateway.process.stop()
      await hub?.stop()
    },
  }
}
