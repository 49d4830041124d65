/** Who may confirm the clock of the gateway after a start: `services/clock/confirmation.ts` says how. */
export const TIME_SOURCES = ['system', 'hardware', 'devices', 'admin'] as const
export type TimeSource = (typeof TIME_SOURCES)[number]

/** How sure the gateway is of its time, as `/health` says it. */
export type ClockState = 'confirmed' | 'trusted' | 'untrusted'
