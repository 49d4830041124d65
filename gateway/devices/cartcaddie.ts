import type { DeviceType } from './device-type.ts'

export const cartcaddie: DeviceType = {
  name: 'cartcaddie',
  description: 'Screen in a cart: position, battery, course map, messages to the players.',
}
