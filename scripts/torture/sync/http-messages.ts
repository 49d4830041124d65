/** HTTP/1.1 message, byte for byte as received. */
export interface HttpMessage {
  bytes: Buffer
  /** Length up to its body. */
  headBytes: number
  /** First line of a request, `POST /path HTTP/1.1`. */
  startLine: string
}

const HEAD_END = '\r\n\r\n'
const LINE_END = '\r\n'
const LENGTH = /\r\ncontent-length: *(\d+)/i
const IS_CHUNKED = /\r\ntransfer-encoding: *chunked/i

/** Finds the ends of the messages of a connection; one without a length has no body [RFC 9112, 6.3]. */
export class HttpMessageReader {
  #pending: Buffer = Buffer.alloc(0)

  /** Consumes received bytes; returns the messages they complete. */
  take(chunk: Buffer): HttpMessage[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const messages: HttpMessage[] = []
    for (let message = this.#next(); message !== null; message = this.#next()) messages.push(message)
    return messages
  }

  #next(): HttpMessage | null {
    const headEnd = this.#pending.indexOf(HEAD_END)
    if (headEnd < 0) return null
    const head = this.#pending.toString('latin1', 0, headEnd)
    const headBytes = headEnd + HEAD_END.length
    const end = IS_CHUNKED.test(head)
      ? findChunksEnd(this.#pending, headBytes)
      : headBytes + Number(LENGTH.exec(head)?.[1] ?? 0)
    if (end === null || end > this.#pending.length) return null
    const bytes = this.#pending.subarray(0, end)
    this.#pending = this.#pending.subarray(end)
    return { bytes, headBytes, startLine: head.slice(0, head.indexOf(LINE_END)) }
  }
}

/** Null until the last chunk has arrived; trailers are not supported [RFC 9112, 7.1]. */
function findChunksEnd(bytes: Buffer, start: number): number | null {
  let position = start
  for (;;) {
    const lineEnd = bytes.indexOf(LINE_END, position)
    if (lineEnd < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', position, lineEnd), 16)
    position = lineEnd + LINE_END.length + size + LINE_END.length
    if (size === 0) return position
  }
}
