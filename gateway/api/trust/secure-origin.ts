/**
 * The origin of a page that came over plain HTTP, over TLS: the same host and the same port, which browsers leave out of the
 * one and not of the other.
 */
export function secureOrigin(plainOrigin: string): string {
  const { protocol, hostname, port, origin } = new URL(plainOrigin)
  return protocol === 'http:' ? new URL(`https://${hostname}:${port || '80'}`).origin : origin
}
