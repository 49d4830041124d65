import type { CommandDefinition } from './device-type.ts'

const NO_PARAMS: CommandDefinition['params'] = { type: 'object', properties: {} }
const DAY_S = 86_400

/** Asks a device where it is. */
export const LOCATE_NAME = 'locate'

/** Commands every kind of device obeys. A position is worth two minutes of waiting, a turn of a lock only one. */
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

/** What a device that downloads its zones obeys. */
export const FETCH_GEOFENCES_NAME = 'fetch_geofences'

/** Asks a device to download its zones; the gateway fills in where from. */
export const FETCH_GEOFENCES: CommandDefinition = { ttlS: DAY_S, params: NO_PARAMS }
