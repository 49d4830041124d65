/** Invalid keys per address: 300 a minute, burst or sustained. Keys are random: bounds the work, not the guessing. */
export const FAILED_KEYS = { perSecond: 5, burst: 300 }
