import type { ServerMessage } from '#shared/wire/realtime.ts'

/** FIN and the opcode of text; a server masks nothing. Source: RFC 6455, 5.2. */
const WHOLE_TEXT = 0x81
const MAX_SHORT = 125
const LENGTH_16 = 126
const MAX_16 = 0xffff
const LENGTH_64 = 127

/** A message as bytes of a WebSocket: made once, sent to many. */
export class Frame {
  readonly bytes: Buffer
  /** Which devices it tells of: who does not see them all any more is not told it. */
  readonly hardwareIds: readonly string[]
  /** The same for those who do not see codes. */
  readonly masked: Frame
  #alone: PendingFrames | undefined

  /** `masked` is what those are told who do not see codes, where that is something else. */
  constructor(message: ServerMessage, masked?: ServerMessage) {
    this.bytes = encode(message)
    this.hardwareIds = devicesIn(message)
    this.masked = masked === undefined ? this : new Frame(masked)
  }

  /** For all to whom nothing else is due. */
  get alone(): PendingFrames {
    this.#alone ??= new PendingFrames(null, this)
    return this.#alone
  }
}

/**
 * Frames that are due to a socket, oldest first. Sockets to which the same frames are due hold the same object,
 * whatever it is that they subscribe to: so the bytes of all of them are joined once.
 */
export class PendingFrames {
  readonly #before: PendingFrames | null
  readonly #frame: Frame
  /** Of all of them. */
  readonly bytes: number
  /** What the last socket that got one more has now: the next one that gets the same frame has it too. */
  #followed: PendingFrames | undefined
  #joined: Buffer | undefined

  constructor(before: PendingFrames | null, frame: Frame) {
    this.#before = before
    this.#frame = frame
    this.bytes = (before === null ? 0 : before.bytes) + frame.bytes.length
  }

  /** These frames, then `frame`. */
  followedBy(frame: Frame): PendingFrames {
    if (this.#followed === undefined || this.#followed.#frame !== frame) this.#followed = new PendingFrames(this, frame)
    return this.#followed
  }

  /** All of them in one piece. */
  join(): Buffer {
    this.#joined ??= this.#before === null ? this.#frame.bytes : this.#concat()
    return this.#joined
  }

  /** From the first to the last. */
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
