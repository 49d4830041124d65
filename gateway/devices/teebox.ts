import type { DeviceType } from './device-type.ts'

export const teebox: DeviceType = {
  name: 'teebox',
  description:
    'Lock and tracker of a cart: position, battery, lock state; RFID, keypad, key and remote unlocking.',
}
