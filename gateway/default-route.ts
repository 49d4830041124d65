import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { outerAddresses } from '#host/outer-addresses.ts'
import { isEveryAddress } from '#shared/budgets/listen.ts'

/**
 * Addresses for documents, which nobody has: to connect a UDP socket sends nothing, it only chooses a route. Source:
 * RFC 5737, RFC 3849.
 */
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
 * The addresses by which others reach what listens on every address: those of the default route, of IPv4 before IPv6,
 * then any that the machine has.
 */
async function reachableAddresses(host: string, outer: typeof outerAddresses): Promise<string[]> {
  const known = outer(host).map(({ address }) => address)
  const routes = [await defaultRouteAddress('udp4'), host === '::' ? await defaultRouteAddress('udp6') : undefined]
  const routed = routes.filter((address) => address !== undefined)
  return [...new Set([...routed.filter((one) => known.includes(one)), ...known, ...routed])]
}

/** The URLs by which others reach what listens there, the likeliest first. */
export async function reachableUrls(host: string, listening: readonly string[]): Promise<string[]> {
  if (!isEveryAddress(host)) return [...listening]
  const addresses = await reachableAddresses(host, outerAddresses)
  if (addresses.length === 0) return [...listening]
  // the host of an mqtt URL is not the URL class's to change
  return addresses.flatMap((one) => listening.map((url) => url.replace(/\/\/.*:/, `//${inUrl(one)}:`)))
}

/**
 * What links begin with: the likeliest address that others reach it at, or the one it listens on where that is another.
 */
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
