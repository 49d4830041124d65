import { setTimeout as sleep } from 'node:timers/promises'

/** Polls every `pollMs` until the condition is true; resolves to false if it is not after `limitMs`. */
export async function waitUntil(
  isTrue: () => boolean | Promise<boolean>,
  limitMs: number,
  pollMs = 10,
): Promise<boolean> {
  const giveUpAtMs = performance.now() + limitMs
  while (!(await isTrue())) {
    if (performance.now() > giveUpAtMs) return false
    await sleep(pollMs)
  }
  return true
}

/** Waits for a condition that must become true; throws `otherwise` if it does not. */
export async function mustReach(
  isTrue: () => boolean | Promise<boolean>,
  limitMs: number,
  otherwise: string,
  pollMs?: number,
): Promise<void> {
  if (!(await waitUntil(isTrue, limitMs, pollMs))) throw new Error(otherwise)
}
