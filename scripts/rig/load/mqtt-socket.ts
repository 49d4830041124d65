import net from 'node:net'
import { type ConnectFields, connectPacket } from '#testing/mqtt-packets.ts'
import { type PacketListener, PacketReader } from './packet-reader.ts'

/** Sockets are read one at a time, and each chunk is consumed before the next read. */
const readBuffer = Buffer.allocUnsafe(64 * 1024)

/** No local address for the fleet: with one, a client may get the port of a stopped gateway and connect to itself. */
export const FLEET = {}
/** Another host, for the limits per address; all of 127.0.0.0/8 is the loopback on Linux. */
const OTHER_HOST = process.platform === 'linux' ? { localAddress: '127.0.0.2' } : {}

/** Callbacks of an MQTT socket: bytes, the packets in them, and its end. */
export interface SocketListener extends PacketListener {
  arrived?(): void
  /** Called before `closed`. */
  failed?(error: Error): void
  closed?(): void
}

/** Network connection that speaks MQTT: cheap enough for thousands in a process. */
export class MqttSocket {
  readonly #socket: net.Socket

  constructor(
    port: number,
    login: ConnectFields,
    listener: SocketListener,
    origin: { localAddress?: string } = OTHER_HOST,
  ) {
    const reader = new PacketReader(listener)
    // One buffer for all reads: a new one for each costs more than the parsing.
    const callback = (count: number) => {
      listener.arrived?.()
      reader.read(readBuffer.subarray(0, count))
      return true
    }
    const onread = { buffer: readBuffer, callback }
    const socket = net.connect({ host: '127.0.0.1', port, ...origin, noDelay: true, onread })
    this.#socket = socket
    socket.on('connect', () => socket.write(connectPacket(login)))
    socket.on('error', (error) => listener.failed?.(error))
    socket.on('close', () => listener.closed?.())
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  /** Ends the connection as a power cut does: no DISCONNECT. */
  cut(): void {
    this.#socket.resetAndDestroy()
  }

  /** Ends the connection after pending bytes and these. */
  end(bytes: Buffer): void {
    this.#socket.end(bytes)
  }
}
