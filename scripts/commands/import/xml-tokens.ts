import { SaxesParser } from 'saxes'
import { TrackFileError } from './track-reader.ts'

/** Receives elements and text, in the order of the file; names include their prefixes. */
export interface XmlSink {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(): void
  /** Chunk of decoded text; the whole text may arrive in several chunks. */
  text(piece: string): void
}

/** Approximate maximum length of a tag, text, comment etc., to within a chunk: the parser keeps them until they end. */
const TOKEN_LIMIT = 1_048_576
const DEPTH_LIMIT = 100

/** Reads XML as it arrives. Refuses a DOCTYPE, so knows only predefined entities. Source: https://www.w3.org/TR/xml/ */
export class XmlTokens {
  readonly #sink: XmlSink
  readonly #parser = new SaxesParser({ position: false, xmlns: false })
  #depth = 0
  #length = 0
  /** End of the last token, which is the start of a faulty one. */
  #tokenAt = 0
  #tokenLine = 1
  #isEnding = false
  /** End of an element that was not reported to the sink yet. */
  #closedAt: number | undefined

  /** With more than seven handlers V8 keeps the parser as a dictionary, which makes it four times slower. */
  constructor(sink: XmlSink) {
    this.#sink = sink
    const parser = this.#parser
    parser.on('opentag', ({ name, attributes }) => {
      this.#token()
      if (++this.#depth > DEPTH_LIMIT) throw this.#error('elements are nested too deep')
      sink.open(name, attributes)
    })
    // the parser emits it before it checks if the end tag belongs to another element
    parser.on('closetag', () => {
      this.#token()
      this.#depth--
      this.#closedAt = this.#tokenAt
    })
    const text = (piece: string) => {
      this.#token()
      sink.text(piece)
    }
    parser.on('text', text)
    parser.on('cdata', text)
    parser.on('doctype', () => {
      throw this.#error('the file has a DOCTYPE, and entities of its own are not read')
    })
    parser.on('error', ({ message }) => {
      if (this.#closedAt !== parser.position) this.#emitClose()
      const fault = message.replace(/\.$/, '')
      throw this.#error(this.#isEnding ? `the file ends in the middle: ${fault}` : fault)
    })
  }

  /** Throws `TrackFileError` if the text is not XML, or has a part that is too long. */
  read(text: string): void {
    this.#parser.write(text)
    this.#emitClose()
    this.#length += text.length
    if (this.#length - this.#tokenAt > TOKEN_LIMIT)
      throw this.#error('a tag, a comment or a text does not end: this is not XML')
  }

  /** Throws `TrackFileError` if an element is still open, or there was none. */
  end(): void {
    if (this.#length === 0) throw new TrackFileError('the file is empty, which is not XML')
    this.#isEnding = true
    this.#parser.close()
  }

  #token(): void {
    this.#emitClose()
    this.#tokenAt = this.#parser.position
    this.#tokenLine = this.#parser.line
  }

  #emitClose(): void {
    if (this.#closedAt === undefined) return
    this.#closedAt = undefined
    this.#sink.close()
  }

  #error(message: string): TrackFileError {
    return new TrackFileError(`line ${this.#tokenLine}: ${message}`)
  }
}
