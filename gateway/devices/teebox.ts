import { COMMON_COMMANDS } from './commands.ts'
import type { DeviceType } from './device-type.ts'

export const teebox: DeviceType = {
  name: 'teebox',
  description: 'Lock and tracker of a cart: position, battery, lock state; RFID, keypad, key and remote unlocking.',
  otherNames: ['lock', 'tracker', 'lock and tracker', 'sperre', 'schloss', 'sperre und tracker'],
  defaults: { realtime_enabled: true, key_keyless_state: 'key' },
  configSchema: {
    type: 'object',
    properties: {
      realtime_enabled: { type: 'boolean', description: 'Send each sample as soon as it is measured.' },
      key_keyless_state: {
        type: 'string',
        enum: ['key', 'keyless'],
        description: 'Start of the cart with or without its key.',
      },
    },
  },
  commands: COMMON_COMMANDS,
  downloadsZones: false,
}
