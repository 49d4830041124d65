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
  /** Types built into the program; a type set through the API replaces the one with its name. */
  builtIn: readonly DeviceType[]
  store: Pick<Store, 'read' | 'write'>
  fleet: Fleet
  layers: ConfigLayers
  publisher: ConfigPublisher
}

/** Known device types. None is ever removed, because devices use it. */
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

  /** Returns a type named in a request for something else. Throws `unknown_device_type`. */
  requireKnown(name: string, where: 'body' | 'path'): DeviceType {
    const type = this.#byName.get(name)
    if (type !== undefined) return type
    const names = this.all().map((known) => known.name)
    const detail = `must be one of: ${names.join(', ')}`
    throw new InvalidRequestError('unknown_device_type', `device_type ${detail}`, [
      { in: where, name: 'device_type', code: 'unknown_device_type', detail },
    ])
  }

  /** Returns all types by name. */
  all(): DeviceType[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Creates or replaces a type; returns the number of its devices to which changed settings were published. Layers set
   * before do not change. Throws `too_large`, or `invalid_field` with each default that does not match the schema.
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

/** Builds a type set through the API; its devices download zones if it supports the command for that. */
function fromRow(row: DeviceTypeRow): DeviceType {
  return { ...row, downloadsZones: Object.hasOwn(row.commands, FETCH_GEOFENCES_NAME) }
}

function requireFitting({ defaults, configSchema }: DeviceTypeRow): void {
  if (isLayerTooLarge(defaults))
    throw new InvalidRequestError('too_large', `the defaults must not exceed ${LAYER_BYTES_MAX} bytes`)
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
