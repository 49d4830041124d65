import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { outerAddresses } from '#host/outer-addresses.ts'
import { isEveryAddress } from '#shared/budgets/listen.ts'

/** Documentation addresses, which no host has: connecting UDP only chooses a route. Source: RFC 5737, RFC 3849. */
const ELSEWHERE = { udp4: '192.0.2.1', udp6: '2001:db8::1' } as const
const PORT = 9

/** Returns this host's source address on its default route; undefined without one. */
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

/** Returns the addresses of a listener on all interfaces: of the default route, IPv4 before IPv6, else any other. */
async function reachableAddresses(host: string, outer: typeof outerAddresses): Promise<string[]> {
  const known = outer(host).map(({ address }) => address)
  const routes = [await defaultRouteAddress('udp4'), host === '::' ? await defaultRouteAddress('udp6') : undefined]
  const routed = routes.filter((address) => address !== undefined)
  return [...new Set([...routed.filter((one) => known.includes(one)), ...known, ...routed])]
}

/** Returns the URLs of a listener as seen from other hosts, the likeliest first. */
export async function reachableUrls(host: string, listening: readonly string[]): Promise<string[]> {
  if (!isEveryAddress(host)) return [...listening]
  const addresses = await reachableAddresses(host, outerAddresses)
  if (addresses.length === 0) return [...listening]
  // the URL class cannot change the host of an mqtt URL
  return addresses.flatMap((one) => listening.map((url) => url.replace(/\/\/.*:/, `//${inUrl(one)}:`)))
}

/** Returns the base of links: the likeliest address as seen from other hosts, or a specific listening address. */
export async function reachableUrl(
  host: string,
  listening: string,
  outer: typeof outerAddresses = outerAddresses,
): Promise<string> {
  if (!isEveryAddress(host)) return listening
  const [address] = await reachableAddresses(host, outer)
  if (address === undefined) return listening
  const url = new URL(listening)
  url.hostname = inUrl(address)
  return url.origin
}

function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}
