import { type IncomingMessage, ServerResponse } from 'node:http'
import { SAFETY_HEADERS } from '../request-guards.ts'

/** Size of a write to a connection: with TLS the whole write is encrypted before the client reads any. */
const PIECE_BYTES = 32_768

/** Response sent in chunks, each once the system took the previous one. Has safe headers even if no app is reached. */
export class PacedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** True if the body is kept in memory anyway and all responses share its bytes. */
  isShared = false
  /** Receives the size of the body in bytes when it is set; 0 for a shared one. */
  onMade: ((bytes: number) => void) | undefined

  constructor(request: Request) {
    super(request)
    for (const [name, value] of Object.entries(SAFETY_HEADERS)) this.setHeader(name, value)
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    const done = [chunk, encoding, callback].find(isCallback)
    if (done !== undefined) this.once('finish', done)
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return super.end()
    const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk, encodingOf(encoding)) : chunk.length
    if (!this.isShared) this.onMade?.(bytes)
    if (bytes <= PIECE_BYTES || this.req.method === 'HEAD')
      return typeof chunk === 'string' ? super.end(chunk, encodingOf(encoding)) : super.end(chunk)
    this.#send(typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : chunk)
    return this
  }

  #send(body: Uint8Array): void {
    const rest = body.subarray(PIECE_BYTES)
    if (rest.length === 0) super.end(body)
    else
      this.write(body.subarray(0, PIECE_BYTES), (error) => {
        if (!error && !this.destroyed) this.#send(rest)
      })
  }
}

function isCallback(argument: unknown): argument is () => void {
  return typeof argument === 'function'
}

function encodingOf(argument: unknown): BufferEncoding {
  return typeof argument === 'string' && Buffer.isEncoding(argument) ? argument : 'utf8'
}
