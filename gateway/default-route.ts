import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { outerAddresses } from '#host/outer-addresses.ts'
import { isEveryAddress } from '#shared/budgets/listen.ts'

/** Addresses for documents, which nobody has: to connect a UDP socket sends nothing, it only chooses a route. Source: RFC 5737, RFC 3849. */
const ELSEWHERE = { udp4: '192.0.2.1', udp6: '2001:db8::1' } as const
const PORT = 9

/** The address of this machine that its default route begins with; undefined without one. */
async function defaultRouteAddress(type: keyof typeof ELSEWHERE): Promise<string | undefined> {
  const socket = createSocket(type)
  try {
    socket.connect(PORT, ELSEWHERE[type])
    await once(socket, 'connect')
    return socket.address().address
  } catch {
    return undefined
  } finally {
    socket.close()
  }
}

/**
 * What links begin with: the address that others reach it at, or the one it listens on where that is another. Of several that
 * of the default route, of IPv4 before IPv6; without a default route any that the machine has.
 */
export async function reachableUrl(
  host: string,
  listening: string,
  outer: typeof outerAddresses = outerAddresses,
): Promise<string> {
  if (!isEveryAddress(host)) return listening
  const known = outer(host).map(({ address }) => address)
  const routed = [
    await defaultRouteAddress('udp4'),
    host === '::' ? await defaultRouteAddress('udp6') : undefined,
  ]
  const address = routed.find((one) => one !== undefined && known.includes(one)) ?? known[0] ?? routed[0]
  if (address === undefined) return listening
  const url = new URL(listening)
  url.hostname = address.includes(':') ? `[${address}]` : address
  return url.origin
}
