import type { IncomingMessage } from 'node:http'
import { remoteAddressOf } from '#shared/budgets/listen.ts'
import { ForbiddenError } from '#shared/errors.ts'

/** Addresses of trusted proxies. */
interface Proxies {
  isProxy(address: string): boolean
}

/** Data of a request from which its target address is derived. */
interface Addressed {
  socketAddress: string
  isEncrypted: boolean
  /** Returns a header; the name is in lower case. */
  header: (name: string) => string | undefined
}

/**
 * Origin of this program as a browser sees it: scheme and Host, sent or forwarded by a trusted proxy; else undefined.
 */
export function ownOrigin(addresses: Proxies, { socketAddress, isEncrypted, header }: Addressed): string | undefined {
  const isForwarded = addresses.isProxy(socketAddress)
  const forwarded = (name: string) => (isForwarded ? header(name)?.split(',', 1)[0]?.trim() : undefined)
  const scheme = forwarded('x-forwarded-proto')?.toLowerCase() ?? (isEncrypted ? 'https' : 'http')
  const host = forwarded('x-forwarded-host') ?? header('host')
  return host === undefined ? undefined : originOf(`${scheme}://${host}`)
}

/** Returns the same for a Node request. */
export function ownOriginOf(addresses: Proxies, { socket, headers }: IncomingMessage): string | undefined {
  return ownOrigin(addresses, {
    socketAddress: remoteAddressOf(socket),
    isEncrypted: 'encrypted' in socket,
    header: (name) => headers[name]?.toString(),
  })
}

/**
 * Throws `foreign_origin` unless the request comes from a page of this program: `SameSite` does not stop a page on
 * another port of the same host. Browsers send the origin with every request that may change data.
 */
export function requireOwnOrigin(origin: string | undefined, own: string | undefined): void {
  if (origin !== undefined && own !== undefined && origin.toLowerCase() === own) return
  throw new ForbiddenError('foreign_origin', `only pages of ${own ?? 'this gateway'} may send this with a cookie`)
}

/** Origin in the notation of browsers: without the default port. */
function originOf(url: string): string | undefined {
  const parsed = URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.origin : undefined
}
