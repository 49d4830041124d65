import type { Device } from '#services/fleet.ts'
import type { DeviceListQuery } from '#shared/wire/devices.ts'
import { toDeviceJson } from './device-json.ts'
import { DeviceTexts } from './device-texts.ts'

interface Page {
  devices: readonly Buffer[]
  text: Buffer<ArrayBuffer>
}

/** Lists of devices as JSON, joined again only once one of the devices, or which they are, has changed. */
export class DeviceListTexts {
  /** Each with a comma before it. */
  readonly #texts = new DeviceTexts((device) => Buffer.from(`,${JSON.stringify(toDeviceJson(device))}`))
  /** The last answer to each query that is remembered. */
  readonly #pages = new WeakMap<DeviceListQuery, Page>()

  /** The answer to `query`, of which `devices` are the page. */
  of(query: DeviceListQuery, devices: readonly Device[]): Buffer<ArrayBuffer> {
    const parts = devices.map((device) => this.#texts.of(device))
    const last = this.#pages.get(query)
    if (last !== undefined && isSame(last.devices, parts)) return last.text
    const { limit, offset } = query
    const text = join(parts, { limit, offset, returned: parts.length })
    this.#pages.set(query, { devices: parts, text })
    return text
  }
}

function isSame(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return one.length === other.length && one.every((part, i) => part === other[i])
}

function join(devices: readonly Buffer[], pagination: object): Buffer<ArrayBuffer> {
  const [first = Buffer.of(), ...others] = devices
  return Buffer.concat([
    Buffer.from('{"devices":['),
    first.subarray(1),
    ...others,
    Buffer.from(`],"pagination":${JSON.stringify(pagination)}}`),
  ])
}
