import net from 'node:net'
import { DISCONNECT } from '#testing/mqtt-packets.ts'
import { PacketReader } from '../load/packet-reader.ts'
import type { AttackPlan } from './attack-plan.ts'

/** Address apart from the fleet's, for the limits per address; all of 127.0.0.0/8 is the loopback on Linux. */
export const NEIGHBOUR_ADDRESS = '127.0.0.2'

const MAX_UNSENT_BYTES = 262_144
const HEAD_BYTES = 16

/** Connection of a noisy client, which may be reopened. */
export class AttackConnection {
  isClosed = true
  readonly #plan: AttackPlan
  readonly #port: number
  readonly #count: (name: string) => void
  #socket: net.Socket | undefined
  #mayWrite = false
  #unacknowledged = 0

  constructor(plan: AttackPlan, port: number, count: (name: string) => void) {
    this.#plan = plan
    this.#port = port
    this.#count = count
  }

  /** True if the next bytes may be written: the last were answered, if the plan waits for that, and few are unsent. */
  get isReady(): boolean {
    const { size, ofOne } = this.#plan.window
    const isFree = this.#unacknowledged + ofOne <= size && (this.#socket?.writableLength ?? 0) < MAX_UNSENT_BYTES
    return isFree && this.#mayWrite && !this.isClosed
  }

  /** Cuts an open connection, connects, and begins with these bytes. */
  open(first: Buffer): void {
    this.#socket?.removeAllListeners('close').destroy()
    const socket = net.connect({
      host: '127.0.0.1',
      port: this.#port,
      localAddress: NEIGHBOUR_ADDRESS,
      noDelay: true,
      allowHalfOpen: this.#plan.after === 'never closes its end',
    })
    this.#socket = socket
    this.#mayWrite = false
    this.#unacknowledged = 0
    this.isClosed = false
    socket.on('connect', () => this.#begin(socket, first))
    socket.on('data', this.#reader(socket))
    socket.on('error', () => this.#count('failed'))
    socket.on('close', () => {
      this.isClosed = true
      this.#count('closed')
    })
  }

  write(bytes: Buffer): void {
    if (this.#plan.waitsFor === 'each answer') this.#mayWrite = false
    this.#unacknowledged += this.#plan.window.ofOne
    this.#socket?.write(bytes)
  }

  #begin(socket: net.Socket, first: Buffer): void {
    socket.write(first)
    this.#mayWrite = this.#plan.waitsFor === 'nothing'
    // no response to wait for
    if (this.#mayWrite) this.#leave(socket)
  }

  #leave(socket: net.Socket): void {
    if (this.#plan.after === 'leaves once subscribed') socket.end(DISCONNECT)
  }

  #reader(socket: net.Socket): (chunk: Buffer) => void {
    const packets = this.#plan.speaks === 'mqtt' ? this.#packetReader(socket) : undefined
    return (chunk) => {
      this.#mayWrite = true
      if (packets !== undefined) packets.read(chunk)
      else this.#readText(chunk)
      if (this.#plan.after === 'stops reading') socket.pause()
    }
  }

  #packetReader(socket: net.Socket): PacketReader {
    const countReply = (what: string, isRefused: boolean) =>
      this.#count(isRefused ? `${what} refused` : `${what} taken`)
    return new PacketReader({
      connack: (returnCode) => countReply('logins', returnCode !== 0),
      suback: (returnCodes) => {
        for (const code of returnCodes) countReply('filters', code >= 0x80)
        this.#leave(socket)
      },
      puback: () => {
        this.#unacknowledged--
        this.#count('acknowledged')
      },
      publish: () => this.#count('messages got'),
    })
  }

  #readText(chunk: Buffer): void {
    const head = chunk.toString('latin1', 0, HEAD_BYTES)
    if (head.startsWith('HTTP/1.1 ')) this.#count(`status ${head.slice(9, 12)}`)
    if (this.#plan.speaks !== 'websocket') return
    const errors = chunk.toString('latin1').match(/"type":"error"|too many/g)?.length ?? 0
    for (let i = 0; i < errors; i++) this.#count('messages refused')
  }
}
