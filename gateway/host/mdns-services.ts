import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { MachineIds } from '#domain/machine.ts'

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

/** The names of a gateway on the network. */
export interface AnnouncedName {
  /** Of its services, for people. */
  name: string
  /** Of its machine, as its certificate has it. */
  host: string
  /** The same with a mark: for a network in which another machine answers to `host`. */
  markedHost: string
}

/**
 * The mark in the names of a gateway, the same at each start and another on each machine and for each gateway of one:
 * by what tells the machine from others, or else by the identity of its data.
 */
export function markOf(signs: MachineIds, identity: string, httpPort: number): string {
  const [machine = identity] = signs.board ?? signs.system ?? signs.network ?? []
  return createHash('sha256').update(`${machine} ${httpPort}`).digest('hex').slice(0, 4)
}

/**
 * What this gateway is called on the network. Its services have the mark in any case: two new machines have the same
 * host name and may start in the same second, so neither could find the other by asking.
 */
export function announcedName(mark: string, machineName = hostname()): AnnouncedName {
  const [first = ''] = machineName.split('.')
  const machine = first === '' ? 'cartbarn' : first.slice(0, 40)
  const markedHost = `${machine}-${mark}.local`
  return {
    name: `cartbarn on ${machine} (${mark})`,
    // each machine is that to itself
    host: machine === 'localhost' ? markedHost : `${machine}.local`,
    markedHost,
  }
}
