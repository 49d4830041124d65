import { type Fleet, startFleet } from '#scripts/commands/simulate/fleet.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

interface FleetOptions {
  carts?: number
  /** Speed of the simulation as a multiple of real time. */
  speedUp?: number
  /**
   * Number of past days whose positions and voltages are filled in, in addition to this morning; 0 fills in nothing.
   */
  pastDays?: number
}

/** Starts the simulated course of the demo on a test gateway: mid-morning, all carts are out, some have problems. */
export function startSimulatedFleet(
  gateway: Pick<TestGateway, 'http' | 'mqtt'>,
  { carts = 20, speedUp = 1, pastDays = 0 }: FleetOptions = {},
): Fleet {
  return startFleet(
    {
      gatewayUrl: gateway.http,
      brokerUrl: gateway.mqtt,
      adminKey: ADMIN_KEY,
      carts,
      speedUp,
      days: 1,
      seed: 1,
      qos: 1,
      durationS: undefined,
      historyDays: 0,
      pastDays,
      isLive: true,
      center: { lat: 28.41, long: -81.58 },
      prefix: 'sim',
      setsUp: true,
      hasIncidents: true,
    },
    { line: () => undefined, progress: () => undefined },
  )
}
