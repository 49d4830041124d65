/** A registration of a device: a hardware_id that was deleted can be registered again. */
export interface Registration {
  shortId: string
  sinceMs: number
}

/** What carries the registration it is of; null if it was stored by a program that did not keep it. */
interface Registered {
  shortId: string | null
  atMs: number
}

/**
 * Whether something is of the registration its hardware_id has now, undefined for none; without its own, by its time.
 */
export function isOfRegistration(now: Registration | undefined, { shortId, atMs }: Registered): boolean {
  if (now === undefined) return false
  return shortId === null ? atMs >= now.sinceMs : shortId === now.shortId
}
