import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { Peer } from './peer.ts'

/** The gateway, which stores before it acknowledges. */
export class GatewayPeer implements Peer {
  readonly name = 'cartbarn'
  readonly devices: readonly BenchDevice[]
  readonly #context: ScenarioContext
  readonly #dataDir: string
  #gateway: GatewayProcess

  private constructor(
    context: ScenarioContext,
    dataDir: string,
    gateway: GatewayProcess,
    devices: readonly BenchDevice[],
  ) {
    this.#context = context
    this.#dataDir = dataDir
    this.#gateway = gateway
    this.devices = devices
  }

  static async create(context: ScenarioContext, devices: number): Promise<GatewayPeer> {
    const dataDir = context.bench.createFolder('peers')
    const gateway = await startGateway(context.bench, { entry: context.entry, dataDir })
    return new GatewayPeer(context, dataDir, gateway, await gateway.api.registerDevices(devices))
  }

  get port(): number {
    return this.#gateway.ports.mqtt
  }

  get pids(): number[] {
    return [this.#gateway.process.pid]
  }

  stored(): Promise<number> {
    return this.#gateway.api.gpsCount()
  }

  gpsTimes(hardwareId: string, fromMs: number, toMs: number): Promise<number[]> {
    return this.#gateway.api.gpsTimes(hardwareId, fromMs, toMs)
  }

  kill(): Promise<void> {
    return this.#gateway.process.stop('SIGKILL')
  }

  async recover(): Promise<void> {
    const { bench, entry } = this.#context
    this.#gateway = await startGateway(bench, { entry, dataDir: this.#dataDir })
  }

  stop(): Promise<void> {
    return this.#gateway.process.stop()
  }
}
