import net from 'node:net'
import { type ConnectFields, connectPacket } from '#testing/mqtt-packets.ts'
import { type PacketListener, PacketReader } from './packet-reader.ts'

/** Sockets are read one at a time, and each chunk is consumed before the next read. */
const readBuffer = Buffer.allocUnsafe(64 * 1024)

/** Another host than the fleet's, for the limits that go by address; all of 127.0.0.0/8 is the loopback on Linux. */
const ORIGIN = process.platform === 'linux' ? { localAddress: '127.0.0.2' } : {}

/** What an MQTT socket hears: packets, and its own end. */
export interface SocketListener extends Partial<PacketListener> {
  connected?(): void
  closed?(): void
}

/** One network connection that speaks MQTT: cheap enough for thousands in a process. */
export class MqttSocket {
  readonly #socket: net.Socket

  /** Without `login` nothing is sent: the connection is left half open. */
  constructor(port: number, login: ConnectFields | null, listener: SocketListener) {
    const reader = new PacketReader({
      connack: (returnCode, isSessionPresent) => listener.connack?.(returnCode, isSessionPresent),
      puback: (packetId) => listener.puback?.(packetId),
      suback: (returnCodes) => listener.suback?.(returnCodes),
      publish: (packetId, body) => listener.publish?.(packetId, body),
    })
    const socket = net.connect({
      host: '127.0.0.1',
      port,
      ...ORIGIN,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (count, buffer) => {
          reader.read(buffer.subarray(0, count))
          return true
        },
      },
    })
    this.#socket = socket
    socket.on('connect', () => {
      if (login !== null) socket.write(connectPacket(login))
      listener.connected?.()
    })
    // 'close' follows
    socket.on('error', () => undefined)
    socket.on('close', () => listener.closed?.())
  }

  /** Returns false when the bytes have to wait for the broker to read. */
  write(bytes: Buffer, onTaken?: () => void): boolean {
    return this.#socket.write(bytes, onTaken)
  }

  /** Stops reading: what the broker sends stays where it is. */
  pause(): void {
    this.#socket.pause()
  }

  /** Ends the connection as a power cut does: no DISCONNECT. */
  cut(): void {
    this.#socket.resetAndDestroy()
  }

  /** Ends the connection after what was written. */
  end(bytes: Buffer): void {
    this.#socket.end(bytes)
  }
}
