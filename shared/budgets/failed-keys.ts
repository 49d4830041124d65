/**
 * Invalid keys per address: 300 a minute, as a burst or sustained. Keys are random, so this bounds the work, not the
 * guessing.
 */
export const FAILED_KEYS = { perSecond: 5, burst: 300 }
