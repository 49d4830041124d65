/** True if `If-(None-)Match` has the tag, weak or strong: compression on the way weakens it. Source: RFC 9110, 13.1. */
export function namesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag)
}
