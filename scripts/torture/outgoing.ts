/** A message to be published. */
export interface Outgoing {
  topic: string
  payload: string
  qos: 1 | 2
  retain: boolean
}

interface InFlight {
  message: Outgoing
  wasSent: boolean
  /** At QoS 2 the broker has taken it, and is to be told to let go of the packet id [MQTT-4.3.3-1]. */
  isTaken: boolean
}

const MAX_PACKET_ID = 65_535

/**
 * What a client has published and the broker has not acknowledged to the end, oldest first. Always gives the lowest
 * free packet id, so that an id the broker still holds by mistake is met at once.
 */
export class OutgoingMessages {
  readonly #inFlight = new Map<number, InFlight>()

  get size(): number {
    return this.#inFlight.size
  }

  /** Takes a message; returns its packet id. */
  add(message: Outgoing): number {
    for (let id = 1; id <= MAX_PACKET_ID; id++) {
      if (this.#inFlight.has(id)) continue
      this.#inFlight.set(id, { message, wasSent: false, isTaken: false })
      return id
    }
    throw new Error('no packet id is free')
  }

  /** PUBACK: returns the message, or undefined when none of that id waits for one. */
  acknowledge(id: number): Outgoing | undefined {
    const waiting = this.#inFlight.get(id)
    if (waiting?.message.qos !== 1) return undefined
    this.#inFlight.delete(id)
    return waiting.message
  }

  /** PUBREC. */
  take(id: number): void {
    const waiting = this.#inFlight.get(id)
    if (waiting?.message.qos === 2) waiting.isTaken = true
  }

  /** PUBCOMP: returns the message, or undefined when none of that id waits for one. */
  complete(id: number): Outgoing | undefined {
    const waiting = this.#inFlight.get(id)
    if (waiting?.message.qos !== 2 || !waiting.isTaken) return undefined
    this.#inFlight.delete(id)
    return waiting.message
  }

  /**
   * What is to be sent in a new connection, in the order it was made [MQTT-4.6.0-1]: PUBREL for what was taken, PUBLISH
   * for the rest, marked as a copy if it was sent before [MQTT-3.3.1-1].
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
