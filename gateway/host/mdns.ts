import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Bonjour } from 'bonjour-service'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { AVAHI, avahiServices } from './avahi.ts'
import type { AnnouncedName, AnnouncedService } from './mdns-services.ts'
import type { OuterAddress } from './outer-addresses.ts'

export interface MdnsOptions {
  names: AnnouncedName
  /** Services to announce; empty for none. */
  services: readonly AnnouncedService[]
  text: Record<string, string>
  log: Log
  /** Returns the addresses of this host as seen from others; called repeatedly, because networks come and go. */
  addresses: () => OuterAddress[]
  avahi?: typeof AVAHI
  port?: number
  renewMs?: number
  /** Time for which other hosts may respond to the probed name. */
  probeMs?: number
}

/** Source: RFC 6762, 3. */
const PORT = 5353
const RENEW_MS = 15_000
/** Time for which a name is probed before use. Source: RFC 6762, 8.1. */
const PROBE_MS = 750
const IPV6_GROUP = 'ff02::fb'

/** Member of an announcer that sends and receives packets, missing in the types of its library. */
interface Packets {
  query(questions: { name: string; type: 'A' | 'AAAA' }[]): void
  on(event: 'response', listener: (packet: Response) => void): void
}

interface Response {
  answers: readonly HostRecord[]
  additionals: readonly HostRecord[]
}

interface HostRecord {
  name: string
  type: string
  data: unknown
}

/**
 * Announces the gateway on the local network by mDNS, unless avahi does so through the file of the package. Never
 * fails: a gateway that cannot be found by name is only a warning. Uses one socket per network, because a packet leaves
 * through one interface only.
 */
export class Mdns implements Component {
  readonly #options: MdnsOptions
  #announced: OuterAddress[] = []
  /** True if another host responds to the name of this one. */
  #isConflict = false
  #announcers: Bonjour[] = []
  #renewal: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: MdnsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { services, avahi = AVAHI, log, renewMs = RENEW_MS } = this.#options
    try {
      const byAvahi = avahiServices(avahi)
      if (byAvahi !== null) {
        if (!isDeepStrictEqual(byAvahi, services)) log.warn({ path: avahi.servicePath }, avahiFault(services))
        return
      }
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'cannot read the services of avahi')
    }
    if (services.length === 0) return
    await this.#renew()
    this.#timer = setInterval(() => void this.#renew(), renewMs).unref()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#renewal
    await this.#withdraw()
  }

  /** Renews one at a time, so that none that waits for a socket opens it after the stop. */
  #renew(): Promise<void> {
    this.#renewal = this.#renewal.then(() => this.#announce())
    return this.#renewal
  }

  async #announce(): Promise<void> {
    const { log, names, services } = this.#options
    const addresses = this.#options.addresses()
    if (this.#isStopped || isDeepStrictEqual(addresses, this.#announced)) return
    // also after a failure, which is logged once and tried again when the network changes
    this.#announced = addresses
    // another network may have no conflict
    this.#isConflict = false
    try {
      await this.#withdraw()
      for (const network of networksOf(addresses)) this.#announcers.push(await this.#openOn(network))
      if (this.#announcers.length === 0) return
      await setTimeout(this.#options.probeMs ?? PROBE_MS)
      this.#publish()
      const types = services.map(({ type }) => type)
      log.info(
        {
          name: names.name,
          host: this.#host,
          services: types,
          addresses: addresses.map(({ address }) => address),
        },
        'announced by mDNS',
      )
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'cannot announce the gateway by mDNS; its address works')
    }
  }

  get #host(): string {
    const { host, markedHost } = this.#options.names
    return this.#isConflict ? markedHost : host
  }

  #publish(): void {
    const { names, services, text } = this.#options
    for (const announcer of this.#announcers)
      for (const { type, port } of services)
        announcer.publish({ name: names.name, host: this.#host, type, port, txt: text, probe: false })
  }

  async #openOn({ address, name, isIpv6 }: OuterAddress): Promise<Bonjour> {
    const { log, port = PORT, names } = this.#options
    const { Bonjour } = (await import('bonjour-service')).default
    const socket = await boundSocket(isIpv6 ? 'udp6' : 'udp4', port)
    const network = isIpv6 ? { type: 'udp6', ip: IPV6_GROUP, interface: `::%${name}` } : { interface: address }
    // bound here, where a port in use is an error that can be caught; the library would throw it in a later tick
    const options = { socket, bind: false, port, ...network }
    const announcer = new Bonjour(options, (error: unknown) => log.debug({ reason: describeError(error) }, 'mDNS'))
    socket.emit('listening')
    // its types lack the server, which its constructor sets
    const { mdns } = (announcer as unknown as { server: { mdns: Packets } }).server
    mdns.on('response', (response) => this.#receive(response))
    mdns.query([
      { name: names.host, type: 'A' },
      { name: names.host, type: 'AAAA' },
    ])
    return announcer
  }

  /** Changes to the name with the mark once another host has the one without. */
  #receive({ answers, additionals }: Response): void {
    if (this.#isConflict || this.#isStopped) return
    const own = ownAddresses()
    const { host } = this.#options.names
    const other = [...answers, ...additionals].find(
      ({ name, type, data }) =>
        (type === 'A' || type === 'AAAA') &&
        name.toLowerCase() === host.toLowerCase() &&
        typeof data === 'string' &&
        !own.has(data),
    )
    if (other === undefined) return
    this.#isConflict = true
    this.#options.log.warn(
      { host, address: other.data },
      'another host has the same name: announced under another one, which the certificate lacks',
    )
    this.#renewal = this.#renewal.then(() => this.#announceAgain())
  }

  async #announceAgain(): Promise<void> {
    if (this.#isStopped) return
    for (const announcer of this.#announcers)
      await new Promise<void>((resolve) => announcer.unpublishAll(() => resolve()))
    this.#publish()
  }

  async #withdraw(): Promise<void> {
    const announcers = this.#announcers
    this.#announcers = []
    for (const announcer of announcers) {
      await new Promise<void>((resolve) => announcer.unpublishAll(() => resolve()))
      await new Promise<void>((resolve) => announcer.destroy(() => resolve()))
    }
  }
}

async function boundSocket(type: 'udp4' | 'udp6', port: number): Promise<Socket> {
  const socket = createSocket({ type, reuseAddr: true, ipv6Only: type === 'udp6' })
  try {
    socket.bind(port)
    await once(socket, 'listening')
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

/** Selects one socket for each IPv4 address, and an IPv6 one for each network without IPv4. */
function networksOf(addresses: readonly OuterAddress[]): OuterAddress[] {
  const ipv4 = addresses.filter(({ isIpv6 }) => !isIpv6)
  const names = new Set(ipv4.map(({ name }) => name))
  const alone = addresses.filter(({ name, isIpv6 }) => isIpv6 && !names.has(name))
  return [...ipv4, ...new Map(alone.map((one) => [one.name, one])).values()]
}

function ownAddresses(): Set<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address)))
}

function avahiFault(services: readonly AnnouncedService[]): string {
  return services.length === 0
    ? 'avahi announces a gateway that cannot be reached; delete its file'
    : 'avahi announces ports that differ from those of the gateway; correct its file, or delete it and restart the ' +
        'gateway, which then announces itself'
}
