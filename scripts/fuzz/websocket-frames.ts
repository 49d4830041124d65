/** Frame types of RFC 6455, section 5.2. */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const MASK = Buffer.from([0x12, 0x34, 0x56, 0x78])
const HEAD_END = '\r\n\r\n'

interface FrameOptions {
  isFinal?: boolean
  isMasked?: boolean
  /** The three reserved bits. */
  reserved?: number
}

/** Client frame of up to 65,535 bytes. */
export function encodeFrame(
  opcode: number,
  content: Buffer,
  { isFinal = true, isMasked = true, reserved = 0 }: FrameOptions = {},
): Buffer {
  const first = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode
  const mask = isMasked ? 0x80 : 0
  const { length } = content
  const lengthBytes = length < 126 ? [mask | length] : [mask | 126, length >> 8, length & 255]
  const head = Buffer.from([first, ...lengthBytes])
  if (!isMasked) return Buffer.concat([head, content])
  return Buffer.concat([head, MASK, content.map((byte, i) => byte ^ (MASK[i % 4] ?? 0))])
}

/** Requests a WebSocket with the sub-protocol of MQTT. */
export function upgradeRequest(path: string): Buffer {
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol: mqtt',
  ]
  return Buffer.from(lines.join('\r\n') + HEAD_END)
}

/** Bytes received over the HTTP port so far. */
export interface WebSocketAnswer {
  /** 0 until the head of the response is complete. */
  status: number
  /** Content of the binary frames. */
  content: Buffer
  /** Violation by the WebSocket server; null without one. */
  problem: string | null
}

/** Parses the response to an upgrade request and the frames that follow it. */
export function readWebSocketAnswer(bytes: Buffer): WebSocketAnswer {
  const headEnd = bytes.indexOf(HEAD_END)
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(bytes.toString('latin1', 0, 20)) ?? []
  if (headEnd < 0 || status === undefined) {
    const isOdd = bytes.length >= 13 && status === undefined
    return { status: 0, content: Buffer.alloc(0), problem: isOdd ? 'not a response of HTTP/1.1' : null }
  }
  const frames = Number(status) === 101 ? bytes.subarray(headEnd + HEAD_END.length) : Buffer.alloc(0)
  return { status: Number(status), ...readFrames(frames) }
}

function readFrames(bytes: Buffer): { content: Buffer; problem: string | null } {
  const contents: Buffer[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const [opcode, short] = [(bytes[at] ?? 0) & 15, bytes[at + 1] ?? 0]
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0
    if (short >= 128) return { content: Buffer.concat(contents), problem: 'a masked frame of a server' }
    if (at + 2 + extra > bytes.length) break
    const length =
      extra === 2 ? bytes.readUInt16BE(at + 2) : extra === 8 ? Number(bytes.readBigUInt64BE(at + 2)) : short
    const content = bytes.subarray(at + 2 + extra, at + 2 + extra + length)
    if (opcode === Opcode.binary || opcode === Opcode.continuation) contents.push(content)
    else if (opcode !== Opcode.close && opcode !== Opcode.pong)
      return { content: Buffer.concat(contents), problem: `a frame of type ${opcode}` }
    at += 2 + extra + length
  }
  return { content: Buffer.concat(contents), problem: null }
}
