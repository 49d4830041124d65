import type { IncomingMessage } from 'node:http'
import { remoteAddressOf } from '#shared/budgets/listen.ts'
import { ForbiddenError } from '#shared/errors.ts'

/** Which addresses are those of trusted proxies. */
interface Proxies {
  isProxy(address: string): boolean
}

/** What a request says of the address it was sent to. */
interface Addressed {
  socketAddress: string
  isEncrypted: boolean
  /** Of a header, in lower case. */
  header: (name: string) => string | undefined
}

/**
 * The origin of this program as a browser sees it: scheme and Host as the client sent them, of a trusted proxy what it
 * forwards. Undefined when a request does not say.
 */
export function ownOrigin(addresses: Proxies, { socketAddress, isEncrypted, header }: Addressed): string | undefined {
  const isForwarded = addresses.isProxy(socketAddress)
  const forwarded = (name: string) => (isForwarded ? header(name)?.split(',', 1)[0]?.trim() : undefined)
  const scheme = forwarded('x-forwarded-proto')?.toLowerCase() ?? (isEncrypted ? 'https' : 'http')
  const host = forwarded('x-forwarded-host') ?? header('host')
  return host === undefined ? undefined : originOf(`${scheme}://${host}`)
}

/** The same for a request as Node has it. */
export function ownOriginOf(addresses: Proxies, { socket, headers }: IncomingMessage): string | undefined {
  return ownOrigin(addresses, {
    socketAddress: remoteAddressOf(socket),
    isEncrypted: 'encrypted' in socket,
    header: (name) => headers[name]?.toString(),
  })
}

/**
 * Throws `foreign_origin` unless a page of this program asks: `SameSite` does not stop one on another port of the same
 * host. Browsers say where a page is from with all that may change anything.
 */
export function requireOwnOrigin(origin: string | undefined, own: string | undefined): void {
  if (origin !== undefined && own !== undefined && origin.toLowerCase() === own) return
  throw new ForbiddenError('foreign_origin', `only pages of ${own ?? 'this gateway'} may do this with a cookie`)
}

/** As browsers write it: without the port where that is the usual one. */
function originOf(url: string): string | undefined {
  const parsed = URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.origin : undefined
}
