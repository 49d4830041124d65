/**
 * Converts the origin of a page loaded over plain HTTP to its TLS origin: same host and same port. Browsers omit port
 * 80 or 443 in one of them and not in the other.
 */
export function secureOrigin(plainOrigin: string): string {
  const { protocol, hostname, port, origin } = new URL(plainOrigin)
  return protocol === 'http:' ? new URL(`https://${hostname}:${port || '80'}`).origin : origin
}

/** Reverse of `secureOrigin`. */
export function plainOrigin(secureOrigin: string): string {
  const { protocol, hostname, port, origin } = new URL(secureOrigin)
  return protocol === 'https:' ? new URL(`http://${hostname}:${port || '443'}`).origin : origin
}
