import type { CartTrackJson } from '#shared/wire/tracks.ts'

type Device = CartTrackJson['devices'][number]

/** Where a test says that a cart was; degrees in 1e-7 around a place on the course. */
export interface Seen {
  atS: number
  northM?: number
  eastM?: number
  kmh?: number
}

/** About a metre of latitude. */
const METRE_E7 = 90

/** What `GET /carts/:cart/track` answers of one device. */
export function deviceTrackJson(
  hardware_id: string,
  device_type: string,
  seen: readonly Seen[],
  volts: readonly [atS: number, voltageV: number][] = [],
): Device {
  return {
    hardware_id,
    device_type,
    gps: {
      at: differences(seen.map(({ atS }) => atS * 1000)),
      lat: differences(seen.map(({ northM = 0 }) => 284_100_000 + northM * METRE_E7)),
      long: differences(seen.map(({ eastM = 0 }) => -815_800_000 + eastM * METRE_E7)),
      speed: differences(seen.map(({ kmh }) => (kmh === undefined ? -1 : kmh * 1000))),
    },
    battery: {
      at: differences(volts.map(([atS]) => atS * 1000)),
      voltage: differences(volts.map(([, voltageV]) => Math.round(voltageV * 1000))),
    },
  }
}

function differences(values: readonly number[]): number[] {
  return values.map((value, i) => value - (values[i - 1] ?? 0))
}
