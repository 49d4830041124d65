import { toHash } from '#dashboard/live/route.ts'

/** The address of a page below More, or of a part of it. */
export function toPage(...parts: string[]): string {
  return toHash('more', parts.join('/'))
}
