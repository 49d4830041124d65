import type { Socket } from 'node:net'
import type { Part } from '../../shared/lifecycle.ts'

/** The open sockets of all MQTT ports together: no more than so many, and none of them outlives the broker. */
export class Connections implements Part {
  readonly #max: number
  readonly #open = new Set<Socket>()

  constructor(max: number) {
    this.#max = max
  }

  /** Takes a place until the socket is closed; false when there is none left. */
  admit(socket: Socket): boolean {
    if (this.#open.size >= this.#max) return false
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    return true
  }

  async start(): Promise<void> {
    // the listeners open what there is to close
  }

  /** Ends what the broker does not know: a socket that never said CONNECT would keep the process for ten seconds. */
  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
  }
}
