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
  /** Empty: nothing is to be announced. */
  services: readonly AnnouncedService[]
  text: Record<string, string>
  log: Log
  /** Addresses at which others reach it; asked again and again, as networks come and go. */
  addresses: () => OuterAddress[]
  avahi?: typeof AVAHI
  port?: number
  renewMs?: number
  /** How long others have to answer to the name of the machine. */
  probeMs?: number
}

/** Source: RFC 6762, 3. */
const PORT = 5353
const RENEW_MS = 15_000
/** Source: RFC 6762, 8.1: a name is probed for so long before it is used. */
const PROBE_MS = 750
const IPV6_GROUP = 'ff02::fb'

/** The part of an announcer that sends and receives packets, which its library does not show. */
interface Packets {
  query(questions: { name: string; type: 'A' | 'AAAA' }[]): void
  on(event: 'response', listener: (packet: Response) => void): void
}

/** A packet with answers. */
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
 * Announces the gateway on the local network by mDNS, unless avahi does it by the file of the package. Never fails:
 * that nobody finds the gateway by name is a warning. One socket for each network, as a packet leaves by one only.
 */
export class Mdns implements Component {
  readonly #options: MdnsOptions
  #announced: OuterAddress[] = []
  /** Another machine answers to the name of this one. */
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
      log.warn({ reason: describeError(error) }, 'cannot read what avahi announces')
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

  /** One after the other: none that waits for a socket is to come after the end. */
  #renew(): Promise<void> {
    this.#renewal = this.#renewal.then(() => this.#announce())
    return this.#renewal
  }

  async #announce(): Promise<void> {
    const { log, names, services } = this.#options
    const addresses = this.#options.addresses()
    if (this.#isStopped || isDeepStrictEqual(addresses, this.#announced)) return
    // also when it fails: said once, tried again when the network is another
    this.#announced = addresses
    // on another network it may not be so
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
    // it is bound here, where a port that cannot be had is an error to catch; the library would throw out of a turn of
    // its own
    const options = { socket, bind: false, port, ...network }
    const announcer = new Bonjour(options, (error: unknown) => log.debug({ reason: describeError(error) }, 'mDNS'))
    socket.emit('listening')
    // its types do not show the server, which it has from its constructor on
    const { mdns } = (announcer as unknown as { server: { mdns: Packets } }).server
    mdns.on('response', (response) => this.#hear(response))
    mdns.query([
      { name: names.host, type: 'A' },
      { name: names.host, type: 'AAAA' },
    ])
    return announcer
  }

  /** Takes the name with the mark once another machine has the one without. */
  #hear({ answers, additionals }: Response): void {
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
      `another machine is called like this one: announced under another name, which the certificate does not have`,
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

/** One socket for each IPv4 address; of IPv6 for each network that has no IPv4, as others hear of it by that. */
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
    ? 'avahi announces a gateway that is not to be found: delete its file'
    : 'avahi announces other ports than the gateway has: correct its file, or delete it and restart the gateway, ' +
        'which then announces itself'
}
