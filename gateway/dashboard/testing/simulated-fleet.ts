import { type Fleet, startFleet } from '#scripts/commands/simulate/fleet.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

interface FleetOptions {
  carts?: number
  /** How many times as fast as life they drive. */
  speedUp?: number
  /**
   * Days before this one whose positions and voltages are filled in, beside those of this morning; 0 fills in nothing.
   */
  pastDays?: number
}

/**
 * The simulated course of the demo on a gateway of tests: it is mid-morning, all carts are out, some are in trouble.
 */
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
