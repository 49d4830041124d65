/** Frame types of RFC 6455, section 5.2. */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const MASK = Buffer.from([0x12, 0x34, 0x56, 0x78])

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

/** Requests a WebSocket, with additional headers. */
export function upgradeRequest(path: string, headers: Readonly<Record<string, string>> = {}): Buffer {
  const all = {
    Host: '127.0.0.1',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}
