const HEAD_END = '\r\n\r\n'
const STATUS = /^HTTP\/1\.1 (\d{3})/
const NOTHING = Buffer.alloc(0)
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** Reader of consecutive responses with a Content-Length; a client must cost less than what it measures. */
export class AnswerReader {
  /** Status of the last response; 0 before the first. */
  status = 0
  #head: Buffer = NOTHING
  #missing = -1

  /** Consumes received bytes; returns true if they complete a response. Throws on a response without a length. */
  take(chunk: Buffer): boolean {
    if (this.#missing < 0) this.#readHead(chunk)
    else this.#missing -= chunk.length
    if (this.#missing !== 0) return false
    this.#missing = -1
    return true
  }

  #readHead(chunk: Buffer): void {
    const received = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
    const end = received.indexOf(HEAD_END, 0, 'latin1')
    this.#head = end < 0 ? received : NOTHING
    if (end < 0) return
    const head = received.toString('latin1', 0, end)
    const length = LENGTH.exec(head)?.[1]
    if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`)
    this.status = Number(STATUS.exec(head)?.[1])
    this.#missing = Number(length) - (received.length - end - HEAD_END.length)
  }
}
