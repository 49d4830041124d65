export interface Outgoing {
  topic: string
  payload: string
  qos: 1 | 2
  retain: boolean
}

interface InFlight {
  message: Outgoing
  wasSent: boolean
  /** True if the broker has accepted a QoS 2 message and must be asked to release its packet id [MQTT-4.3.3-1]. */
  isTaken: boolean
}

const MAX_PACKET_ID = 65_535

/**
 * Messages that a client has published and the broker has not fully acknowledged, oldest first. Always assigns the
 * lowest free packet id, so that an id the broker still holds by mistake is reused immediately.
 */
export class OutgoingMessages {
  readonly #inFlight = new Map<number, InFlight>()

  get size(): number {
    return this.#inFlight.size
  }

  /** Adds a message; returns its packet id. */
  add(message: Outgoing): number {
    for (let id = 1; id <= MAX_PACKET_ID; id++) {
      if (this.#inFlight.has(id)) continue
      this.#inFlight.set(id, { message, wasSent: false, isTaken: false })
      return id
    }
    throw new Error('no packet id is free')
  }

  /** Handles a PUBACK; returns the message, or undefined if none with that id waits for one. */
  acknowledge(id: number): Outgoing | undefined {
    const waiting = this.#inFlight.get(id)
    if (waiting?.message.qos !== 1) return undefined
    this.#inFlight.delete(id)
    return waiting.message
  }

  /** Handles a PUBREC. */
  take(id: number): void {
    const waiting = this.#inFlight.get(id)
    if (waiting?.message.qos === 2) waiting.isTaken = true
  }

  /** Handles a PUBCOMP; returns the message, or undefined if none with that id waits for one. */
  complete(id: number): Outgoing | undefined {
    const waiting = this.#inFlight.get(id)
    if (waiting?.message.qos !== 2 || !waiting.isTaken) return undefined
    this.#inFlight.delete(id)
    return waiting.message
  }

  /**
   * Messages to send in a new connection, in their original order [MQTT-4.6.0-1]: PUBREL for those accepted, PUBLISH
   * for the rest, marked as a copy if sent before [MQTT-3.3.1-1].
   */
  toSend(): { id: number; message: Outgoing; isCopy: boolean; isTaken: boolean }[] {
    return [...this.#inFlight].map(([id, { message, wasSent, isTaken }]) => {
      return { id, message, isCopy: wasSent, isTaken }
    })
  }

  markSent(id: number): void {
    const waiting = this.#inFlight.get(id)
    if (waiting !== undefined) waiting.wasSent = true
  }
}
