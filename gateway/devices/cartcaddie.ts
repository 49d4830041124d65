import { COMMON_COMMANDS, FETCH_GEOFENCES, FETCH_GEOFENCES_NAME } from './commands.ts'
import type { DeviceType } from './device-type.ts'
import { teebox } from './teebox.ts'

export const cartcaddie: DeviceType = {
  name: 'cartcaddie',
  description: 'Screen in a cart: position, battery, course map, messages to the players.',
  otherNames: ['screen', 'display', 'tablet', 'bildschirm', 'anzeige'],
  defaults: teebox.defaults,
  configSchema: teebox.configSchema,
  commands: {
    ...COMMON_COMMANDS,
    [FETCH_GEOFENCES_NAME]: FETCH_GEOFENCES,
    message: {
      ttlS: 600,
      params: {
        type: 'object',
        properties: { text: { type: 'string', minLength: 1, maxLength: 200 } },
        required: ['text'],
      },
    },
  },
  downloadsZones: true,
}
