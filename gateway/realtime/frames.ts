import type { ServerMessage } from '#shared/wire/realtime.ts'

/** FIN and the opcode of text; a server masks nothing. Source: RFC 6455, 5.2. */
const WHOLE_TEXT = 0x81
const MAX_SHORT = 125
const LENGTH_16 = 126
const MAX_16 = 0xffff
const LENGTH_64 = 127

/** Message encoded as a WebSocket frame: encoded once, sent to many. */
export class Frame {
  readonly bytes: Buffer
  /** Devices in the message: a connection that no longer sees all of them does not receive it. */
  readonly hardwareIds: readonly string[]
  /** Form for connections that must not see codes. */
  readonly masked: Frame
  #alone: PendingFrames | undefined

  /** `masked` is the message for connections that must not see codes, if different. */
  constructor(message: ServerMessage, masked?: ServerMessage) {
    this.bytes = encode(message)
    this.hardwareIds = devicesIn(message)
    this.masked = masked === undefined ? this : new Frame(masked)
  }

  /** List for all sockets without other pending frames. */
  get alone(): PendingFrames {
    this.#alone ??= new PendingFrames(null, this)
    return this.#alone
  }
}

/** Pending frames of a socket, oldest first. Sockets with the same frames share the object: bytes are joined once. */
export class PendingFrames {
  readonly #before: PendingFrames | null
  readonly #frame: Frame
  /** Total of all frames. */
  readonly bytes: number
  /** Result of the last `followedBy`, reused for the next socket that gets the same frame. */
  #followed: PendingFrames | undefined
  #joined: Buffer | undefined

  constructor(before: PendingFrames | null, frame: Frame) {
    this.#before = before
    this.#frame = frame
    this.bytes = (before === null ? 0 : before.bytes) + frame.bytes.length
  }

  followedBy(frame: Frame): PendingFrames {
    if (this.#followed === undefined || this.#followed.#frame !== frame) this.#followed = new PendingFrames(this, frame)
    return this.#followed
  }

  join(): Buffer {
    this.#joined ??= this.#before === null ? this.#frame.bytes : this.#concat()
    return this.#joined
  }

  frames(): Frame[] {
    const frames: Frame[] = []
    for (let each: PendingFrames | null = this; each !== null; each = each.#before) frames.push(each.#frame)
    return frames.reverse()
  }

  #concat(): Buffer {
    const joined = Buffer.allocUnsafe(this.bytes)
    let end = this.bytes
    for (let each: PendingFrames | null = this; each !== null; each = each.#before) {
      end -= each.#frame.bytes.length
      joined.set(each.#frame.bytes, end)
    }
    return joined
  }
}

function devicesIn(message: ServerMessage): string[] {
  if ('hardwareId' in message) return [message.hardwareId]
  return message.type === 'cart' ? message.cart.devices.map(({ hardware_id }) => hardware_id) : []
}

function encode(message: ServerMessage): Buffer {
  const text = JSON.stringify(message)
  const length = Buffer.byteLength(text)
  const headerBytes = length <= MAX_SHORT ? 2 : length <= MAX_16 ? 4 : 10
  const bytes = Buffer.allocUnsafe(headerBytes + length)
  bytes[0] = WHOLE_TEXT
  bytes[1] = headerBytes === 2 ? length : headerBytes === 4 ? LENGTH_16 : LENGTH_64
  if (headerBytes === 4) bytes.writeUInt16BE(length, 2)
  else if (headerBytes === 10) bytes.writeBigUInt64BE(BigInt(length), 2)
  bytes.write(text, headerBytes)
  return bytes
}
