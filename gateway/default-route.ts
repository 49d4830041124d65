import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** TEST-NET-1 of RFC 5737, which nobody has: to connect a UDP socket sends nothing, it only chooses a route. */
const ELSEWHERE = '192.0.2.1'
const PORT = 9

/** The address of this machine that others reach it at: the one its default route begins with; undefined without one. */
async function defaultRouteAddress(): Promise<string | undefined> {
  const socket = createSocket('udp4')
  try {
    socket.connect(PORT, ELSEWHERE)
    await once(socket, 'connect')
    return socket.address().address
  } catch {
    return undefined
  } finally {
    socket.close()
  }
}

/** What links begin with: the address that others reach it at, or the one it listens on where that is another. */
export async function reachableUrl(host: string, listening: string): Promise<string> {
  if (host !== '0.0.0.0' && host !== '::') return listening
  const address = await defaultRouteAddress()
  if (address === undefined) return listening
  const url = new URL(listening)
  url.hostname = address
  return url.origin
}
