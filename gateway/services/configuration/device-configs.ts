import type { DeviceType } from '#devices/device-type.ts'
import {
  type ConfigLayer,
  checkLayer,
  type DeviceLayers,
  isLayerTooLarge,
  LAYER_BYTES_MAX,
  mergeLayers,
  withoutNulls,
} from '#domain/config-layers.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import type { Store } from '#store/store.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import { type Device, requireRegistered } from '../fleet.ts'
import type { DeviceTypes } from './device-types.ts'
import type { Groups } from './groups.ts'
import type { ConfigLayers, LayerChange } from './layers.ts'
import type { ConfigPublisher, PublishedConfig } from './publisher.ts'

interface DeviceConfigsDeps {
  store: Pick<Store, 'write'>
  groups: Groups
  deviceTypes: DeviceTypes
  layers: ConfigLayers
  publisher: ConfigPublisher
}

export interface LayerOutcome {
  layer: ConfigLayer
  /** Number of devices that have the layer. */
  devices: number
  /** Number of devices to which changed settings were published. */
  published: number
  /** Keys missing from the schema of the type; they are sent anyway. */
  unknownKeys: string[]
}

/** Layers set by an operator: of a group and type, and of a device. `also` is written with a layer, or refuses it. */
export class DeviceConfigs {
  readonly #deps: DeviceConfigsDeps

  constructor(deps: DeviceConfigsDeps) {
    this.#deps = deps
  }

  layersOf(device: Device): DeviceLayers & { resolved: ConfigLayer } {
    const layers = this.#deps.layers.of(device.row)
    return { ...layers, resolved: mergeLayers(layers) }
  }

  publishedTo(device: Device): PublishedConfig | undefined {
    return this.#deps.publisher.publishedTo(device.row.hardwareId)
  }

  groupLayer(groupId: number, deviceType: string): ConfigLayer {
    return this.#deps.layers.ofGroup(groupId, deviceType)
  }

  unknownKeys(deviceType: string, layer: ConfigLayer): string[] {
    const type = this.#deps.deviceTypes.find(deviceType)
    return type === undefined ? Object.keys(layer) : checkLayer(type.configSchema, layer).unknown
  }

  /** Replaces the layer of a group and a type; an empty layer removes it. Throws as `requireFitting` does. */
  setGroupLayer(groupId: number, deviceType: string, given: ConfigLayer, also?: NamedWrite): Promise<LayerOutcome> {
    const { store, groups, deviceTypes, publisher } = this.#deps
    return publisher.inTurn(async (publish) => {
      groups.require(groupId)
      const layer = withoutNulls(given)
      const unknownKeys = requireFitting(deviceTypes.requireKnown(deviceType, 'path'), layer)
      const subjects = groups.devicesOf(groupId).flatMap(({ row }) => (row.deviceType === deviceType ? [row] : []))
      const change: LayerChange = { kind: 'group', groupId, deviceType, layer }
      const { published } = await publish(subjects, change, (publication, commit) =>
        store.write('putGroupConfig', { groupId, deviceType, config: textOf(layer), publication }, commit, also),
      )
      return { layer, devices: subjects.length, published, unknownKeys }
    })
  }

  /** Replaces a device's own layer; an empty layer removes it. Throws as `requireFitting` does. */
  setDeviceLayer(device: Device, given: ConfigLayer, also?: NamedWrite): Promise<LayerOutcome> {
    const { store, deviceTypes, publisher } = this.#deps
    return publisher.inTurn(async (publish) => {
      requireRegistered(device)
      const { deviceId, hardwareId, deviceType } = device.row
      const layer = withoutNulls(given)
      const type = deviceTypes.find(deviceType)
      const unknownKeys = type === undefined ? Object.keys(layer) : requireFitting(type, layer)
      const change: LayerChange = { kind: 'device', hardwareId, layer }
      const { published } = await publish([device.row], change, (publication, commit) =>
        store.write('putDeviceConfig', { deviceId, config: textOf(layer), publication }, commit, also),
      )
      return { layer, devices: 1, published, unknownKeys }
    })
  }
}

/** Returns the keys missing from the schema. Throws `too_large`, or `invalid_field` with each invalid value. */
function requireFitting({ configSchema }: DeviceType, layer: ConfigLayer): string[] {
  if (isLayerTooLarge(layer))
    throw new InvalidRequestError('too_large', `a configuration must not exceed ${LAYER_BYTES_MAX} bytes`)
  const { wrong, unknown } = checkLayer(configSchema, layer)
  if (wrong.length === 0) return unknown
  const message = wrong.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  throw new InvalidRequestError(
    'invalid_field',
    message,
    wrong.map(({ name, detail }) => ({ in: 'body', name, code: 'invalid_field', detail })),
  )
}

function textOf(layer: ConfigLayer): string | null {
  return Object.keys(layer).length === 0 ? null : JSON.stringify(layer)
}
