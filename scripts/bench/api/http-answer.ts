const HEAD_END = '\r\n\r\n'
const STATUS = /^HTTP\/1\.1 (\d{3})/
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** Reader of consecutive responses with a Content-Length; a client must cost less than what it measures. */
export class AnswerReader {
  /** Status of the last response; 0 before the first. */
  status = 0
  /** Body length of the last response. */
  bytes = 0
  #head = ''
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
    const end = chunk.indexOf(HEAD_END, 0, 'latin1')
    this.#head += chunk.toString('latin1', 0, end < 0 ? chunk.length : end)
    // the end-of-head mark is split between two chunks
    const split = end < 0 ? this.#head.indexOf(HEAD_END) : -1
    if (end < 0 && split < 0) return
    const inBody = end < 0 ? this.#head.length - split - HEAD_END.length : chunk.length - end - HEAD_END.length
    const head = split < 0 ? this.#head : this.#head.slice(0, split)
    const length = LENGTH.exec(head)?.[1]
    if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`)
    this.status = Number(STATUS.exec(head)?.[1])
    this.bytes = Number(length)
    this.#missing = this.bytes - inBody
    this.#head = ''
  }
}
