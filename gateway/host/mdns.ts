import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import type { Bonjour } from 'bonjour-service'
import { describeError } from '#shared/errors.ts'
import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { AnnouncedService } from './announced.ts'
import { AVAHI, avahiServices } from './avahi.ts'

export interface MdnsOptions {
  name: string
  /** The name that the addresses of this machine are given under, with `.local`. */
  host: string
  /** Empty: nothing is to be announced. */
  services: readonly AnnouncedService[]
  text: Record<string, string>
  log: Log
  /** IPv4 addresses whose networks hear of it; asked again and again, as networks come and go. */
  addresses?: () => string[]
  avahi?: typeof AVAHI
  port?: number
  renewMs?: number
}

/** Source: RFC 6762, 3. */
const PORT = 5353
const RENEW_MS = 15_000

/**
 * Announces the gateway on the local network by mDNS, unless avahi does it by the file of the package. Never fails: that
 * nobody finds the gateway by name is a warning. One socket for each network, as a packet leaves by one only.
 */
export class Mdns implements Part {
  readonly #options: MdnsOptions
  readonly #addresses: () => string[]
  #announced: string[] = []
  #announcers: Bonjour[] = []
  #renewal: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: MdnsOptions) {
    this.#options = options
    this.#addresses = options.addresses ?? outerAddresses
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
    const { log, name, services } = this.#options
    const addresses = this.#addresses()
    if (this.#isStopped || isDeepStrictEqual(addresses, this.#announced)) return
    // also when it fails: said once, tried again when the network is another
    this.#announced = addresses
    try {
      await this.#withdraw()
      for (const address of addresses) this.#announcers.push(await this.#announceTo(address))
      if (addresses.length > 0)
        log.info({ name, services: services.map(({ type }) => type), addresses }, 'announced by mDNS')
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'cannot announce the gateway by mDNS; its address works')
    }
  }

  async #announceTo(address: string): Promise<Bonjour> {
    const { name, host, services, text, log, port = PORT } = this.#options
    const { Bonjour } = (await import('bonjour-service')).default
    const socket = await boundSocket(port)
    // it is bound here, where a port that cannot be had is an error to catch; the library would throw out of a turn of its own
    const announcer = new Bonjour(
      { socket, bind: false, port, interface: address } as { port: number },
      (error: unknown) => log.debug({ reason: describeError(error) }, 'mDNS'),
    )
    socket.emit('listening')
    for (const { type, port } of services)
      announcer.publish({ name, host, type, port, txt: text, probe: false })
    return announcer
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

async function boundSocket(port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  try {
    socket.bind(port)
    await once(socket, 'listening')
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

function avahiFault(services: readonly AnnouncedService[]): string {
  return services.length === 0
    ? 'avahi announces a gateway that is not to be found: delete its file'
    : 'avahi announces other ports than the gateway has: correct its file, or delete it and restart the gateway, which then announces itself'
}

/** The IPv4 addresses that others may reach this machine at, in a fixed order. */
function outerAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)
    .sort()
}
