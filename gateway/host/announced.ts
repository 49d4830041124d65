import { createHash } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'

/** Where a gateway listens, as URLs. */
export interface ListeningUrls {
  http: string
  mqtt?: string
  mqtts?: string
}

/** A service of DNS-SD: its type without `_` and `._tcp`. */
export interface AnnouncedService {
  type: string
  port: number
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }
/** A string of a TXT record. Source: RFC 6763, 6.1. */
const TXT_BYTES = 255

/** What others may find: the app, and the doors of devices. */
export function announcedServices({ http, mqtt, mqtts }: ListeningUrls): AnnouncedService[] {
  const web = new URL(http)
  return [
    { type: 'cartbarn', port: portOf(web) },
    { type: web.protocol === 'https:' ? 'https' : 'http', port: portOf(web) },
    ...(mqtt === undefined ? [] : [{ type: 'mqtt', port: portOf(new URL(mqtt)) }]),
    ...(mqtts === undefined ? [] : [{ type: 'secure-mqtt', port: portOf(new URL(mqtts)) }]),
  ]
}

function portOf(url: URL): number {
  return url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port)
}

/** What is said beside the port: nothing that a guest of the network must not know. */
export function announcedText(version: string, siteName: string): Record<string, string> {
  const site = cut(siteName, TXT_BYTES - 'site='.length)
  return { path: '/app/', version, ...(site === '' ? {} : { site }) }
}

/** As much of a text as so many bytes hold, in whole characters. */
function cut(text: string, bytes: number): string {
  const characters = [...text]
  while (Buffer.byteLength(characters.join('')) > bytes) characters.pop()
  return characters.join('')
}

/**
 * What this gateway is called on the network: the name of its machine, and a mark of its own. Two new machines have the same
 * host name and may start in the same second, so neither could find the other by asking.
 */
export function announcedName(httpPort: number): { name: string; host: string } {
  const hardware = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
    .map(({ mac }) => mac)
    .sort()
  const mark = createHash('sha256').update(`${hardware[0]} ${httpPort}`).digest('hex').slice(0, 4)
  const [machine = ''] = hostname().split('.')
  return {
    name: `cartbarn on ${machine.slice(0, 40)} (${mark})`,
    host: `${machine.slice(0, 40)}-${mark}.local`,
  }
}
