import type { Tally } from '#shared/tally.ts'
import type { DeliveredPacket } from './aedes-internals.ts'
import type { Session } from './mqtt-sessions/session.ts'
import type { Sessions } from './mqtt-sessions/sessions.ts'

/** A connection, as far as delivering goes. */
interface Recipient {
  isNew(packet: DeliveredPacket): boolean
  grantedQos(topic: string): number
  whenRead(done: () => void): void
  sendOnce(topic: string, payload: DeliveredPacket['payload'], retain: boolean): boolean
}

/** What becomes of a message that a subscription of a connected client has matched. */
export class Delivery {
  readonly #sessions: Sessions
  readonly #counts: Tally

  constructor(sessions: Sessions, counts: Tally) {
    this.#sessions = sessions
    this.#counts = counts
  }

  deliver(recipient: Recipient, session: Session, packet: DeliveredPacket, done: () => void): void {
    if (packet.brokerId === null) recipient.whenRead(() => this.#retained(recipient, session, packet, done))
    else this.#live(recipient, session, packet, done)
  }

  #live(recipient: Recipient, session: Session, packet: DeliveredPacket, done: () => void): void {
    if (recipient.isNew(packet)) {
      const { topic, payload } = packet
      const qos = packet.qos === 0 ? 0 : Math.min(packet.qos, recipient.grantedQos(topic))
      if (qos === 0) {
        if (!recipient.sendOnce(topic, payload, false)) this.#counts.add('slow_reader_skipped')
      } else if (!session.isPersistent) {
        // the queue of a session that is kept has it already
        this.#queue(session, packet, qos)
      }
    }
    done()
  }

  #retained(recipient: Recipient, session: Session, packet: DeliveredPacket, done: () => void): void {
    const qos = Math.min(packet.qos, recipient.grantedQos(packet.topic))
    if (qos === 0) {
      recipient.sendOnce(packet.topic, packet.payload, true)
      done()
      return
    }
    // there may be more of them than a queue holds
    session.outbox.whenHalfFree(() => {
      this.#queue(session, packet, qos)
      done()
    })
  }

  #queue(session: Session, { topic, payload, brokerId }: DeliveredPacket, qos: number): void {
    const message = { topic, payload, qos, isRetained: brokerId === null, extra: null }
    // a refusal of the store has been told of already
    this.#sessions.queueFor(session, message).catch(() => undefined)
  }
}
