import { setTimeout as sleep } from 'node:timers/promises'

/** Asks every `pollMs` until the answer is yes; resolves to false when it is not after `limitMs`. */
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

/** The same for what must come: throws `otherwise` when it does not. */
export async function mustReach(
  isTrue: () => boolean | Promise<boolean>,
  limitMs: number,
  otherwise: string,
  pollMs?: number,
): Promise<void> {
  if (!(await waitUntil(isTrue, limitMs, pollMs))) throw new Error(otherwise)
}
