import type { PublishPacket } from 'aedes'
import type { BrokerPort } from '#domain/broker-port.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Identity } from './connection.ts'
import type { LiveMessage } from './delivery.ts'
import type { SessionJournal, Sessions } from './mqtt-sessions/sessions.ts'

interface IntakeDeps<Login> {
  port: () => BrokerPort<Login>
  journal: SessionJournal
  sessions: Sessions
  options: { maxPayloadBytes: number; maxReceiving: number }
  deliver: (message: LiveMessage) => void
}

/** Receives messages: has each stored with its queue changes before showing, delivering and acknowledging it. */
export class Intake<Login> {
  readonly #deps: IntakeDeps<Login>

  constructor(deps: IntakeDeps<Login>) {
    this.#deps = deps
  }

  /**
   * Calls `onStored` when the message may be acknowledged, or `onRefused` if it never will be. `isAlone` means that no
   * earlier message of its sender is still being stored. `spendWill` is given for a will: it removes the will from
   * memory and returns the changes to store. Returns the number of readings in the message, at least 1.
   */
  take(
    { login, session }: Identity<Login>,
    packet: PublishPacket,
    { spendWill, isAlone }: { spendWill?: (() => SessionChange[]) | undefined; isAlone: boolean },
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): number {
    const { journal, sessions, options } = this.#deps
    const port = this.#deps.port()
    const { topic, qos, messageId = 0 } = packet
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload
    const right = port.publishRight(login, topic)
    const { clientId, received, isPersistent } = session
    // changes that are stored even if the message has no subscribers
    const own: SessionChange[] = []
    const isWill = spendWill !== undefined
    // a will has no packet identifier
    const isExactlyOnce = qos === 2 && !isWill
    if (isExactlyOnce && isPersistent) own.push({ kind: 'received', clientId, packetId: messageId, extra: null })

    const refuse = (reason: string) => {
      port.refused(login, { topic, payload }, reason)
      onRefused(reason)
    }
    if (right === undefined) {
      refuse('topic_not_writable')
    } else if (payload.length > options.maxPayloadBytes) {
      refuse('packet_too_large')
    } else if (isExactlyOnce && received.has(messageId)) {
      // a duplicate [MQTT-4.3.3-2]; it waits, because the original may not be stored yet
      journal.append(own, onStored, onRefused)
    } else if (isExactlyOnce && received.size >= options.maxReceiving) {
      onRefused('too_many_in_flight')
    } else {
      const subscribers = sessions.match(topic, (owner) => port.canRead(owner, topic))
      // a copy: the payload is a view of the socket's whole chunk
      const message =
        packet.retain || subscribers.size > 0
          ? { topic, payload: new Uint8Array(payload), qos, isRetained: packet.retain, extra: null }
          : undefined
      const routed = message && sessions.route(message, subscribers)
      if (isExactlyOnce) received.set(messageId, null)
      if (isWill) own.push(...spendWill())
      const changes = routed === undefined ? own : [...own, ...routed.changes]
      const stored = () => {
        routed?.commit()
        if (message !== undefined) this.#deps.deliver({ topic, payload: Buffer.from(message.payload.buffer), qos })
        onStored()
      }
      const refused = (reason: string) => {
        if (isExactlyOnce) received.delete(messageId)
        routed?.abandon()
        onRefused(reason)
      }
      if (right !== 'message') {
        let isLater = false
        const storedByPort = () => {
          // a message with nothing to store is reported synchronously, and its changes are left to the intake
          if (isLater || (changes.length === 0 && (isAlone || qos === 0))) stored()
          else journal.append(changes, stored, refused)
        }
        const dropped = () => {
          routed?.abandon()
          journal.append(own, onStored, (reason) => {
            if (isExactlyOnce) received.delete(messageId)
            onRefused(reason)
          })
        }
        const uplinked = { level: right, payload, qos, isWill }
        const items = port.receive(login, uplinked, changes, storedByPort, refused, dropped)
        isLater = true
        return items
      }
      if (changes.length > 0 || !isAlone) {
        // even without changes, because it must not overtake earlier messages [MQTT-4.6.0-2] [MQTT-4.6.0-6]
        journal.append(changes, stored, refused)
      } else {
        stored()
      }
    }
    return 1
  }
}
