/**
 * True if `If-None-Match` or `If-Match` contains the tag. Weak and strong tags are treated alike, because compression
 * on the way makes a tag weak. Source: RFC 9110, 13.1.
 */
export function namesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag)
}
