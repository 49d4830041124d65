import type { Duplex } from 'node:stream'
import type { Aedes, Client, PublishPacket } from 'aedes'
import { writeToStream } from 'mqtt-packet'

/**
 * The parts of Aedes 1.2.0 that it does not publish and that we touch, in one place: an upgrade is judged by the
 * tests of the files that use them.
 */
interface ClientInternals {
  /** Last counter seen per broker; Aedes drops what is not above it. */
  duplicates: Record<string, number>
  /** Parser of mqtt-packet; `packet.length` is known as soon as a fixed header has been read. */
  _parser: { parse(chunk: Buffer): number; packet: { length: number } }
  /** The last will as it will be published. */
  will: object | null
}

type Done = (error?: Error) => void

interface BrokerInternals {
  persistence: { incomingGetPacket(client: Client, packet: PublishPacket): Promise<unknown> }
  /** Stores the retained copy, queues for sleeping sessions, forwards; the client may be left out. */
  publish(packet: PublishPacket, client: Client | Done | null, done?: Done): void
  /** Connected clients by client id. */
  clients: Record<string, Client>
}

export function clientInternals(client: Client): ClientInternals {
  return client as unknown as ClientInternals
}

export function connectedClient(aedes: Aedes, clientId: string): Client | undefined {
  return (aedes as unknown as BrokerInternals).clients[clientId]
}

/**
 * Leaves out the routing of messages that `isRouted` denies: Aedes would match each against all subscriptions three
 * times over to find nobody.
 */
export function routeOnly(aedes: Aedes, isRouted: (packet: PublishPacket) => boolean): void {
  const internals = aedes as unknown as BrokerInternals
  const publish = internals.publish.bind(aedes)
  internals.publish = (packet, client, done) => {
    if (isRouted(packet)) publish(packet, client, done)
    else if (typeof client === 'function') client()
    else done?.()
  }
}

/** Whether a QoS 2 message with this id has been taken and waits for its PUBREL. */
export function isAwaitingRelease(aedes: Aedes, client: Client, packet: PublishPacket): Promise<boolean> {
  const { persistence } = aedes as unknown as BrokerInternals
  return persistence.incomingGetPacket(client, packet).then(
    () => true,
    () => false,
  )
}

/**
 * Makes mqtt-packet write numbers as it goes. By default it keeps every 16-bit number as a buffer of its own, 65,536
 * of them, which is 7 MB for the garbage collector to walk for ever.
 */
export function writeNumbersUncached(): void {
  writeToStream.cacheNumbers = false
}

/** The stream under a client: a TCP socket, a TLS socket, or the stream of a WebSocket. */
export function streamOf(client: Client): Duplex {
  return client.conn
}
