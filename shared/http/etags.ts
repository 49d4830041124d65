/**
 * Whether `If-None-Match` or `If-Match` names the tag; weak and strong are the same here, as an answer that was
 * compressed on its way has a weak one. Source: RFC 9110, 13.1.
 */
export function namesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag)
}
