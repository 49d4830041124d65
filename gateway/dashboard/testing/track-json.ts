import type { CartTrackJson } from '#shared/wire/tracks.ts'

type Device = CartTrackJson['devices'][number]

/** Position of a cart in a test; 1e-7 degrees around a place on the course. */
export interface Seen {
  atS: number
  northM?: number
  eastM?: number
  kmh?: number
}

/** About a metre of latitude. */
const METRE_E7 = 90

/** Builds the part of one device in the response of `GET /carts/:cart/track`. */
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
