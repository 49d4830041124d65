import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { MachineIds } from '#domain/machine.ts'

/** URLs of a gateway's listeners. */
export interface ListeningUrls {
  http: string
  mqtt?: string
  mqtts?: string
}

/** Service of DNS-SD: its type without `_` and `._tcp`. */
export interface AnnouncedService {
  type: string
  port: number
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }
/** Limit of a string in a TXT record. Source: RFC 6763, 6.1. */
const TXT_BYTES = 255

/** Returns the services to announce: the app, and the listeners for devices. */
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

/** Returns the text announced with the port, limited to what guests of the network may know. */
export function announcedText(version: string, siteName: string): Record<string, string> {
  const site = cut(siteName, TXT_BYTES - 'site='.length)
  return { path: '/app/', version, ...(site === '' ? {} : { site }) }
}

/** Truncates a text to a number of bytes, in whole characters. */
function cut(text: string, bytes: number): string {
  const characters = [...text]
  while (Buffer.byteLength(characters.join('')) > bytes) characters.pop()
  return characters.join('')
}

/** Names of a gateway on the network. */
export interface AnnouncedName {
  /** Name of its services, for people. */
  name: string
  /** Host name, as in its certificate. */
  host: string
  /** Host name with the mark, for a network in which another host responds to `host`. */
  markedHost: string
}

/**
 * Returns the mark in the names of a gateway, constant over restarts, and different for each host and each gateway on
 * it; derived from the identifiers of the host, or else from the identity of the data.
 */
export function markOf(signs: MachineIds, identity: string, httpPort: number): string {
  const [machine = identity] = signs.board ?? signs.system ?? signs.network ?? []
  return createHash('sha256').update(`${machine} ${httpPort}`).digest('hex').slice(0, 4)
}

/**
 * Returns the names of this gateway on the network. Service names always contain the mark: two new hosts have the same
 * name and may start in the same second, so neither could detect the other by a probe.
 */
export function announcedName(mark: string, machineName = hostname()): AnnouncedName {
  const [first = ''] = machineName.split('.')
  const machine = first === '' ? 'cartbarn' : first.slice(0, 40)
  const markedHost = `${machine}-${mark}.local`
  return {
    name: `cartbarn on ${machine} (${mark})`,
    // on every host this name means the host itself
    host: machine === 'localhost' ? markedHost : `${machine}.local`,
    markedHost,
  }
}
