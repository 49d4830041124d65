import type { CommandDefinition } from './device-type.ts'

const NO_PARAMS: CommandDefinition['params'] = { type: 'object', properties: {} }
const DAY_S = 86_400

export const LOCATE_NAME = 'locate'

/** Commands of every device type. A position may take two minutes, a lock or unlock only one. */
export const COMMON_COMMANDS: Record<string, CommandDefinition> = {
  lock: { ttlS: 60, params: NO_PARAMS },
  unlock: { ttlS: 60, params: NO_PARAMS },
  reboot: { ttlS: 60, params: NO_PARAMS },
  [LOCATE_NAME]: {
    ttlS: 120,
    params: {
      type: 'object',
      properties: { beep: { type: 'boolean', description: 'Sound the beeper as well.' } },
    },
  },
  refresh_config: { ttlS: DAY_S, params: NO_PARAMS },
}

/** Name of the command for devices that download their zones. */
export const FETCH_GEOFENCES_NAME = 'fetch_geofences'

/** Requests a device to download its zones; the gateway adds the URL. */
export const FETCH_GEOFENCES: CommandDefinition = { ttlS: DAY_S, params: NO_PARAMS }
