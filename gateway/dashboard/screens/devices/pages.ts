import { toHash } from '#dashboard/live/route.ts'

/** Builds the address of a page below More, or of a section within a page. */
export function toPage(...parts: string[]): string {
  return toHash('more', parts.join('/'))
}
