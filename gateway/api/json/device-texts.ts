import type { Device } from '#services/fleet.ts'

interface Remembered<Text> {
  row: Device['row']
  reported: Device['reported']
  isOnline: boolean
  text: Text
}

/**
 * Cached JSON of devices, serialised again only after a device has changed: requests are far more frequent than changes
 * of all devices. Relies on `row` and `reported` being replaced and never mutated.
 */
export class DeviceTexts<Text> {
  readonly #write: (device: Device) => Text
  readonly #remembered = new WeakMap<Device, Remembered<Text>>()

  constructor(write: (device: Device) => Text) {
    this.#write = write
  }

  of(device: Device): Text {
    const { row, reported, isOnline } = device
    const known = this.#remembered.get(device)
    if (known?.row === row && known.reported === reported && known.isOnline === isOnline) return known.text
    const text = this.#write(device)
    this.#remembered.set(device, { row, reported, isOnline, text })
    return text
  }
}
