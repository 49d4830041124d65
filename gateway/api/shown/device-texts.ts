import type { Device } from '#services/fleet.ts'

interface Remembered<Text> {
  row: Device['row']
  reported: Device['reported']
  isOnline: boolean
  text: Text
}

/**
 * JSON of devices, written again only once a device has changed: it is asked for far more often than all of them move.
 * Relies on `row` and `reported` being replaced and never changed.
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
