import type { Counter } from '#shared/counter.ts'
import type { RetainedPacket } from './aedes-internals.ts'
import type { Session } from './mqtt-sessions/session.ts'
import type { Sessions } from './mqtt-sessions/sessions.ts'

interface Recipient {
  grantedQos(topic: string): number
  whenRead(done: () => void): void
  sendOnce(topic: string, payload: RetainedPacket['payload'], retain: boolean): boolean
}

/** Message for connected clients only. */
export interface LiveMessage {
  topic: string
  payload: Buffer | string
  qos?: number
}

/** Delivers messages that match a subscription of a connected client. */
export class Delivery {
  readonly #sessions: Sessions
  readonly #counts: Counter

  constructor(sessions: Sessions, counts: Counter) {
    this.#sessions = sessions
    this.#counts = counts
  }

  live({ topic, payload, qos: sentQos = 0 }: LiveMessage, subscribers: ReadonlyMap<Session, number>): void {
    for (const [session, grantedQos] of subscribers) {
      const { connection, isPersistent } = session
      // the subscriptions of a persistent session exist before CONNACK, which must be sent first [MQTT-3.2.0-1]
      if (connection?.isReady !== true) continue
      const qos = Math.min(sentQos, grantedQos)
      if (qos === 0) {
        if (!connection.sendOnce(topic, payload, false)) this.#counts.add('slow_reader_skipped')
      } else if (!isPersistent) {
        // already in the queue of a persistent session
        this.#queue(session, { topic, payload, qos, isRetained: false })
      }
    }
  }

  /** Sends a retained message to a client that has just subscribed. */
  retained(recipient: Recipient, session: Session, packet: RetainedPacket, done: () => void): void {
    const { topic, payload } = packet
    recipient.whenRead(() => {
      const qos = Math.min(packet.qos, recipient.grantedQos(topic))
      if (qos === 0) {
        recipient.sendOnce(topic, payload, true)
        done()
        return
      }
      // there may be more of them than a queue holds
      session.outbox.whenHalfFree(() => {
        this.#queue(session, { topic, payload, qos, isRetained: true })
        done()
      })
    })
  }

  #queue(
    session: Session,
    message: { topic: string; payload: Buffer | string; qos: number; isRetained: boolean },
  ): void {
    // the journal has reported the failure
    this.#sessions.queueFor(session, { ...message, extra: null }).catch(() => undefined)
  }
}
