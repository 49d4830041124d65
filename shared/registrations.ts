/** Registration of a device: a deleted hardware_id can be registered again. */
export interface Registration {
  shortId: string
  sinceMs: number
}

/** Data with the registration it belongs to; null if the program that stored it did not record that. */
interface Registered {
  shortId: string | null
  atMs: number
}

/** True if the data belongs to the current registration (undefined for none); data without one is matched by time. */
export function isOfRegistration(now: Registration | undefined, { shortId, atMs }: Registered): boolean {
  if (now === undefined) return false
  return shortId === null ? atMs >= now.sinceMs : shortId === now.shortId
}
