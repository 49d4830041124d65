import { SCREEN_STATES, type ScreenState } from '#shared/wire/recall.ts'
import { type DeviceTypeLookup, definitionOf } from '../commands/request.ts'
import type { Device } from '../fleet.ts'

/** Command that shows a text on a screen. */
export const MESSAGE = 'message'

export function isScreen(types: DeviceTypeLookup, { row }: Pick<Device, 'row'>): boolean {
  return definitionOf(types.find(row.deviceType), MESSAGE) !== undefined
}

/** Returns the state of a cart's screens, the first of them that is best; recall and messages share it. */
export function screenStateOf(screens: readonly { isConfirmed: boolean; isReached: boolean }[]): ScreenState {
  const states = screens.map(({ isConfirmed, isReached }) =>
    isConfirmed ? 'confirmed' : isReached ? 'sent' : 'offline',
  )
  return SCREEN_STATES.find((state) => states.some((one) => one === state)) ?? 'none'
}
