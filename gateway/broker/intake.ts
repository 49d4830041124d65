import type { PublishPacket } from 'aedes'
import type { SessionChange, StoredMessage } from '../../shared/mqtt-sessions.ts'
import type { BrokerPort } from './broker-port.ts'
import type { Identity } from './connection.ts'
import type { SessionJournal, Sessions } from './sessions.ts'

interface IntakeDeps<Login> {
  port: BrokerPort<Login>
  journal: SessionJournal
  sessions: Sessions
  options: { maxPayloadBytes: number; maxReceiving: number }
  /** What is to be written when the last will of a client is published. */
  spendWill: (clientId: string) => SessionChange[]
  /** Hands a message to those who are there. */
  deliver: (message: { topic: string; payload: Buffer; qos: 0 | 1 | 2 }) => void
}

/**
 * Takes messages: matches each, has it written down together with what it puts into queues, and only then lets it be
 * seen, delivered and acknowledged.
 */
export class Intake<Login> {
  readonly #deps: IntakeDeps<Login>

  constructor(deps: IntakeDeps<Login>) {
    this.#deps = deps
  }

  /**
   * Calls `onStored` when the message may be acknowledged, or `onRefused` when it never will be. `isAlone` says that
   * nothing its sender sent before is still on its way.
   */
  take(
    { login, session }: Identity<Login>,
    packet: PublishPacket,
    { isWill, isAlone }: { isWill: boolean; isAlone: boolean },
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): void {
    const { port, journal, sessions, options } = this.#deps
    const { topic, qos, messageId = 0 } = packet
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload
    const right = port.publishRight(login, topic)
    const { clientId, received, isPersistent } = session
    const changes: SessionChange[] = []
    // a will has no packet identifier and nobody repeats it
    const isReceived = qos === 2 && !isWill
    if (isReceived && isPersistent)
      changes.push({ kind: 'received', clientId, packetId: messageId, extra: null })

    if (right === undefined) {
      onRefused('topic_not_writable')
    } else if (payload.length > options.maxPayloadBytes) {
      onRefused('packet_too_large')
    } else if (isReceived && received.has(messageId)) {
      // a copy [MQTT-4.3.3-2]; the first may be on its way to the disk still, so this one waits behind it
      journal.append(changes, onStored, onRefused)
    } else if (isReceived && received.size >= options.maxReceiving) {
      onRefused('too_many_in_flight')
    } else {
      const message = this.#routable(packet, payload)
      const routed = message && sessions.route(message, ({ owner }) => port.canRead(owner, topic))
      if (routed !== undefined) changes.push(...routed.changes)
      if (isReceived) received.set(messageId, null)
      if (isWill) changes.push(...this.#deps.spendWill(clientId))
      const stored = () => {
        routed?.commit()
        if (message !== undefined)
          this.#deps.deliver({ topic, payload: Buffer.from(message.payload.buffer), qos })
        onStored()
      }
      const refused = (reason: string) => {
        if (isReceived) received.delete(messageId)
        onRefused(reason)
      }
      if (right !== 'message') {
        port.receive(login, { level: right, payload, qos, isWill }, changes, stored, refused)
      } else if (changes.length > 0 || !isAlone) {
        // also with nothing to write: it must not overtake what came before [MQTT-4.6.0-2] [MQTT-4.6.0-6]
        journal.append(changes, stored, refused)
      } else {
        stored()
      }
    }
  }

  /** The message as it is kept and sent on; undefined when nobody would get it. */
  #routable(
    { topic, qos, retain }: PublishPacket,
    payload: Buffer,
  ): (StoredMessage & { payload: Uint8Array<ArrayBuffer> }) | undefined {
    if (!retain && !this.#deps.sessions.isWanted(topic)) return undefined
    // a copy of its own: the payload is a view of the socket's whole chunk
    return { topic, payload: new Uint8Array(payload), qos, isRetained: retain, extra: null }
  }
}
