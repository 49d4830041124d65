/** Sources that may confirm the clock of the gateway after a start; see `services/clock/confirmation.ts`. */
export const TIME_SOURCES = ['system', 'hardware', 'devices', 'admin'] as const
export type TimeSource = (typeof TIME_SOURCES)[number]

/** Confidence in the gateway's time, as shown by `/health`. */
export type ClockState = 'confirmed' | 'trusted' | 'untrusted'
