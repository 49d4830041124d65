/**
 * The origin of a page that came over plain HTTP, over TLS: the same host and the same port, which browsers leave out
 * of the one and not of the other.
 */
export function secureOrigin(plainOrigin: string): string {
  const { protocol, hostname, port, origin } = new URL(plainOrigin)
  return protocol === 'http:' ? new URL(`https://${hostname}:${port || '80'}`).origin : origin
}

/** The other way round. */
export function plainOrigin(secureOrigin: string): string {
  const { protocol, hostname, port, origin } = new URL(secureOrigin)
  return protocol === 'https:' ? new URL(`http://${hostname}:${port || '443'}`).origin : origin
}
