import type { ConfigLayer, DeviceLayers } from '#domain/config-layers.ts'

/** Device whose configuration is built, with the fields that select its layers. */
export interface ConfigSubject {
  hardwareId: string
  deviceType: string
  groupId: number | null
}

/** Layer that replaces another. */
export type LayerChange =
  | { kind: 'type'; deviceType: string; layer: ConfigLayer }
  | { kind: 'group'; groupId: number; deviceType: string; layer: ConfigLayer }
  | { kind: 'device'; hardwareId: string; layer: ConfigLayer }
  | { kind: 'cart'; hardwareIds: readonly string[]; layer: ConfigLayer }

const EMPTY: ConfigLayer = {}

/** All configuration layers, in memory. */
export class ConfigLayers {
  readonly #ofTypes = new Map<string, ConfigLayer>()
  /** Keyed by `groupKey`. */
  readonly #ofGroups = new Map<string, ConfigLayer>()
  readonly #ofDevices = new Map<string, ConfigLayer>()
  readonly #ofCarts = new Map<string, ConfigLayer>()

  set(change: LayerChange): void {
    const { layer } = change
    if (change.kind === 'type') this.#ofTypes.set(change.deviceType, layer)
    else if (change.kind === 'group') put(this.#ofGroups, groupKey(change.groupId, change.deviceType), layer)
    else if (change.kind === 'device') put(this.#ofDevices, change.hardwareId, layer)
    else for (const hardwareId of change.hardwareIds) put(this.#ofCarts, hardwareId, layer)
  }

  /** Returns the layer that the device has from its cart. */
  ofCart(hardwareId: string): ConfigLayer {
    return this.#ofCarts.get(hardwareId) ?? EMPTY
  }

  ofGroup(groupId: number, deviceType: string): ConfigLayer {
    return this.#ofGroups.get(groupKey(groupId, deviceType)) ?? EMPTY
  }

  /** Returns the layers of a device, as they are or as they would be after a change. */
  of({ hardwareId, deviceType, groupId }: ConfigSubject, change?: LayerChange): DeviceLayers {
    const layers: DeviceLayers = {
      type: this.#ofTypes.get(deviceType) ?? EMPTY,
      group: groupId === null ? EMPTY : this.ofGroup(groupId, deviceType),
      device: this.#ofDevices.get(hardwareId) ?? EMPTY,
      cart: this.ofCart(hardwareId),
    }
    if (change !== undefined && concerns(change, { hardwareId, deviceType, groupId }))
      layers[change.kind] = change.layer
    return layers
  }

  forgetGroup(groupId: number): void {
    for (const key of this.#ofGroups.keys()) if (key.startsWith(groupKey(groupId, ''))) this.#ofGroups.delete(key)
  }

  forgetDevice(hardwareId: string): void {
    this.#ofDevices.delete(hardwareId)
    this.#ofCarts.delete(hardwareId)
  }
}

function concerns(change: LayerChange, subject: ConfigSubject): boolean {
  if (change.kind === 'device') return change.hardwareId === subject.hardwareId
  if (change.kind === 'cart') return change.hardwareIds.includes(subject.hardwareId)
  if (change.deviceType !== subject.deviceType) return false
  return change.kind === 'type' || change.groupId === subject.groupId
}

function groupKey(groupId: number, deviceType: string): string {
  return `${groupId}/${deviceType}`
}

function put(layers: Map<string, ConfigLayer>, key: string, layer: ConfigLayer): void {
  if (Object.keys(layer).length === 0) layers.delete(key)
  else layers.set(key, layer)
}
