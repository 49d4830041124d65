import { FETCH_GEOFENCES_NAME } from '#devices/commands.ts'
import type { DeviceType } from '#devices/device-type.ts'
import { isLayerTooLarge, LAYER_BYTES_MAX } from '#domain/config-layers.ts'
import { InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import { validate } from '#shared/wire/schema/object-schema.ts'
import type { Store } from '#store/store.ts'
import type { DeviceTypeRow } from '#store/tables/device-types.ts'
import type { Fleet } from '../fleet.ts'
import type { ConfigLayers } from './layers.ts'
import type { ConfigPublisher } from './publisher.ts'

interface DeviceTypesDeps {
  /** What the program brings; one that was put by the API replaces the one of its name. */
  builtIn: readonly DeviceType[]
  store: Pick<Store, 'read' | 'write'>
  fleet: Fleet
  layers: ConfigLayers
  publisher: ConfigPublisher
}

/** The kinds of devices there are. There is none less once there is one: devices have it. */
export class DeviceTypes {
  readonly #deps: DeviceTypesDeps
  readonly #byName = new Map<string, DeviceType>()

  constructor(deps: DeviceTypesDeps) {
    this.#deps = deps
  }

  load(): void {
    const { builtIn, store } = this.#deps
    for (const type of [...builtIn, ...store.read.deviceTypes().map(fromRow)]) this.#keep(type)
  }

  find(name: string): DeviceType | undefined {
    return this.#byName.get(name)
  }

  /** Throws `device_type_not_found`. */
  require(name: string): DeviceType {
    const type = this.#byName.get(name)
    if (type === undefined) throw new NotFoundError('device_type_not_found', `there is no device type ${name}`)
    return type
  }

  /** For a type that is named in a request for something else. Throws `unknown_device_type`. */
  requireKnown(name: string, where: 'body' | 'path'): DeviceType {
    const type = this.#byName.get(name)
    if (type !== undefined) return type
    const names = this.all().map((known) => known.name)
    const detail = `must be one of: ${names.join(', ')}`
    throw new InvalidRequestError('unknown_device_type', `device_type ${detail}`, [
      { in: where, name: 'device_type', code: 'unknown_device_type', detail },
    ])
  }

  /** By name. */
  all(): DeviceType[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Makes or replaces a type; returns how many of its devices were told other settings. Layers that were set before
   * stay as they are. Throws `too_large`, or names each default that does not fit the schema.
   */
  put(type: DeviceTypeRow): Promise<number> {
    const { store, fleet, publisher } = this.#deps
    requireFitting(type)
    return publisher.inTurn(async (publish) => {
      const subjects = fleet.all().flatMap(({ row }) => (row.deviceType === type.name ? [row] : []))
      const change = { kind: 'type' as const, deviceType: type.name, layer: type.defaults }
      const { published } = await publish(subjects, change, (publication, commit) =>
        store.write('putDeviceType', { type, publication }, () => {
          this.#byName.set(type.name, fromRow(type))
          commit()
        }),
      )
      return published
    })
  }

  #keep(type: DeviceType): void {
    this.#byName.set(type.name, type)
    this.#deps.layers.set({ kind: 'type', deviceType: type.name, layer: type.defaults })
  }
}

/** A type that the API puts downloads its zones if it obeys the command for that. */
function fromRow(row: DeviceTypeRow): DeviceType {
  return { ...row, downloadsZones: Object.hasOwn(row.commands, FETCH_GEOFENCES_NAME) }
}

function requireFitting({ defaults, configSchema }: DeviceTypeRow): void {
  if (isLayerTooLarge(defaults))
    throw new InvalidRequestError('too_large', `the defaults have more than ${LAYER_BYTES_MAX} bytes`)
  const errors = validate(configSchema, defaults).map(({ name, detail }) => ({
    in: 'body' as const,
    name: `defaults.${name}`,
    code: 'invalid_field',
    detail,
  }))
  if (errors.length === 0) return
  const message = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  throw new InvalidRequestError('invalid_field', message, errors)
}
