import { existsSync } from 'node:fs'
import { ForkedScript } from '#scripts/rig/calls.ts'
import type { BenchDevice, GatewayApi } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { NewFeature } from '#shared/wire/geofences.ts'
import type { ReaderFunctions } from '../realtime/readers.ts'
import { SyncEnvironment } from '../sync/environment.ts'

const SOCKETS = 20
const DEVICES_A_SOCKET = 10
/** File system in memory: the hub's writes do not go to the disk that is measured. */
const MEMORY = '/dev/shm'

/** The carts drive to and fro on parallel lanes (`TelemetryPackets`), 111 m apart, from here to the north. */
const [SOUTH, WEST, LANE] = [36.568, -121.949, 0.001]
const HOLES = 18
/** The one lane with a zone across: one cart in twenty enters and leaves it every ten seconds. */
const CROSSED_LANE = 7
const CORNERS = 16

/** Everything of a course except its devices that costs something: zones, users with open screens, and a hub. */
export class BusyCourse {
  readonly #context: Pick<ScenarioContext, 'bench'>
  readonly #headOffice: SyncEnvironment
  #readers: ForkedScript<ReaderFunctions> | undefined

  private constructor(context: Pick<ScenarioContext, 'bench'>, headOffice: SyncEnvironment) {
    this.#context = context
    this.#headOffice = headOffice
  }

  static async create(context: Pick<ScenarioContext, 'bench'>): Promise<BusyCourse> {
    const within = existsSync(MEMORY) ? { within: MEMORY } : {}
    return new BusyCourse(context, await SyncEnvironment.create(context, within))
  }

  /** Environment of a gateway that replicates to the hub. */
  get env(): Record<string, string> {
    return this.#headOffice.env
  }

  /** Draws zones around the devices; they stay in the folder of the gateway. */
  async drawZones(api: GatewayApi, devices: readonly BenchDevice[]): Promise<void> {
    const hardwareIds = devices.map(({ hardwareId }) => hardwareId)
    await api.createZonedGroup({ type: 'FeatureCollection', features: createZones() }, hardwareIds)
  }

  /** Opens sockets for ten devices each, at most twenty sockets. */
  async openSockets({ ports }: GatewayProcess, devices: readonly BenchDevice[]): Promise<void> {
    const script = new URL('../realtime/readers.ts', import.meta.url)
    this.#readers = new ForkedScript<ReaderFunctions>(this.#context.bench, 'realtime readers', script)
    const hardwareIds = devices.map(({ hardwareId }) => hardwareId)
    for (let i = 0; i < SOCKETS && i * DEVICES_A_SOCKET < hardwareIds.length; i++) {
      await this.#readers.call('subscribe', {
        port: ports.http,
        apiKey: ADMIN_KEY,
        sockets: 1,
        hardwareIds: hardwareIds.slice(i * DEVICES_A_SOCKET, (i + 1) * DEVICES_A_SOCKET),
      })
    }
  }

  /** Messages of devices received by the open sockets so far. */
  async received(): Promise<number> {
    return (await this.#readers?.call('result'))?.received ?? 0
  }

  /** Closes the sockets; returns the number of messages they received. */
  async closeSockets(): Promise<number> {
    const received = await this.received()
    await this.#readers?.stop()
    return received
  }

  /** Positions and voltages that the hub has. */
  rowsAtHeadOffice(): Promise<number> {
    return this.#headOffice.rowsTaken()
  }

  async stop(): Promise<void> {
    await this.#headOffice.stop()
  }
}

/** Returns the course, greens and slow zones next to the lanes, and one slow zone across a lane. */
function createZones(): NewFeature[] {
  const holes = Array.from({ length: HOLES }, (_, i) => i + 1)
  const latOf = (hole: number) => SOUTH + hole * LANE
  return [
    zone('course', 'boundary', SOUTH + 10 * LANE, WEST, 20 * LANE),
    ...holes.map((hole) => zone(`green ${hole}`, 'stop', latOf(hole), WEST - LANE, LANE / 4)),
    ...holes.map((hole) => zone(`path ${hole}`, 'slow', latOf(hole), WEST + 2 * LANE, LANE / 4)),
    zone('bridge', 'slow', latOf(CROSSED_LANE) + LANE / 2, WEST + LANE / 2, LANE / 4),
  ]
}

function zone(
  name: string,
  type: NewFeature['properties']['type'],
  lat: number,
  long: number,
  radius: number,
): NewFeature {
  const ring = Array.from({ length: CORNERS }, (_, i): [number, number] => {
    const angle = (2 * Math.PI * i) / CORNERS
    return [long + radius * Math.cos(angle), lat + radius * Math.sin(angle)]
  })
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { name, type },
  }
}
