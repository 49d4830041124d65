import { atOnce, inTurns } from '#shared/budgets/in-turns.ts'
import { zonesTopic } from '#shared/wire/mqtt.ts'
import { compactZones } from '#shared/zones/compact.ts'
import { type DeviceZones, fitZones } from '#shared/zones/device-zones.ts'
import type { Point } from '#shared/zones/geometry.ts'
import { weightsOf } from '#shared/zones/simplify.ts'
import type { Zone } from '#shared/zones/zone.ts'

/** Zones as sent to teeboxes; computed once per array, which most groups share. */
export class ZoneMessages {
  readonly #fitted = new WeakMap<readonly Zone[], DeviceZones>()
  readonly #weights = new WeakMap<readonly Point[], Float64Array>()

  /** Fits zones into the message by removing as few corners as necessary. Use `fitInTurns` first for large sets. */
  fit(zones: readonly Zone[]): DeviceZones {
    return this.#fitted.get(zones) ?? this.#remember(zones, atOnce(this.#fitting(zones)))
  }

  /** Fits zones in slices of a few milliseconds: many corners take a second. */
  async fitInTurns(zones: readonly Zone[]): Promise<DeviceZones> {
    return this.#fitted.get(zones) ?? this.#remember(zones, await inTurns(this.#fitting(zones)))
  }

  #fitting(zones: readonly Zone[]): Generator<void, DeviceZones> {
    return fitZones(zones, (ring) => this.#weightsOf(ring))
  }

  #remember(zones: readonly Zone[], fitted: DeviceZones): DeviceZones {
    this.#fitted.set(zones, fitted)
    return fitted
  }

  #weightsOf(ring: readonly Point[]): Float64Array {
    let weights = this.#weights.get(ring)
    if (weights === undefined) {
      weights = weightsOf(ring)
      this.#weights.set(ring, weights)
    }
    return weights
  }

  messageOf(groupId: number, version: number, zones: readonly Zone[]) {
    const payload = JSON.stringify(compactZones(version, this.fit(zones).zones))
    return { topic: zonesTopic(groupId), payload, isRetained: true }
  }
}
