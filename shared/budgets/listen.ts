import { once } from 'node:events'
import type { ListenOptions, Server } from 'node:net'

/** Hosts that mean all addresses of the host: IPv6 and IPv4 on one socket, and IPv4 alone. */
const EVERY_ADDRESS = '::'
const EVERY_IPV4_ADDRESS = '0.0.0.0'
/** Error codes of a system without IPv6. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL']

/** True if a listener on this host is reachable at every address of the computer. */
export function isEveryAddress(host: string): boolean {
  return host === EVERY_ADDRESS || host === EVERY_IPV4_ADDRESS
}

/**
 * Listens; `::` means IPv6 and IPv4, or IPv4 alone where IPv6 is off. Throws Node's error if the port is unavailable.
 */
export async function listenOn(server: Server, options: ListenOptions): Promise<void> {
  try {
    await begin(server, options)
  } catch (error) {
    if (options.host !== EVERY_ADDRESS || !isWithoutIpv6(error)) throw error
    await begin(server, { ...options, host: EVERY_IPV4_ADDRESS })
  }
}

async function begin(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options)
  await once(server, 'listening')
}

function isWithoutIpv6(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NO_IPV6.includes(String(error.code))
}

/** Returns an address in its usual form: an IPv4 address mapped into IPv6 (RFC 4291 2.5.5.2) becomes IPv4. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Returns the remote address of a connection; `unknown` once it is closed. */
export function remoteAddressOf({ remoteAddress }: { readonly remoteAddress?: string | undefined }): string {
  return remoteAddress === undefined ? 'unknown' : plainAddress(remoteAddress)
}
