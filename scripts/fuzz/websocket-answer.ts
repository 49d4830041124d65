import { Opcode, upgradeRequest } from '#scripts/rig/websocket.ts'

const HEAD_END = '\r\n\r\n'

/** Requests a WebSocket with the sub-protocol of MQTT. */
export function upgradeToMqtt(path: string): Buffer {
  return upgradeRequest(path, { 'Sec-WebSocket-Protocol': 'mqtt' })
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
