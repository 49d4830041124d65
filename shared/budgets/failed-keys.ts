/**
 * Wrong keys of one address, sustained and at once: 300 a minute. Keys are random, so this bounds work, not guessing.
 */
export const FAILED_KEYS = { perSecond: 5, burst: 300 }
