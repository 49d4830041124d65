import { SaxesParser } from 'saxes'
import { TrackFileError } from './track-reader.ts'

/** Told of elements and text, in the order of the file; names as they stand, with their prefixes. */
export interface XmlSink {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(): void
  /** A piece of text; the whole of it may come in several, decoded. */
  text(piece: string): void
}

/** What a tag, text, comments and the like may be, to within a piece: the parser keeps them until they end. */
const TOKEN_LIMIT = 1_048_576
const DEPTH_LIMIT = 100

/**
 * Reads XML as it comes, within bounds. A DOCTYPE is refused, so no entity but the five every document has is known.
 * Source: https://www.w3.org/TR/xml/
 */
export class XmlTokens {
  readonly #sink: XmlSink
  readonly #parser = new SaxesParser({ position: false, xmlns: false })
  #depth = 0
  #length = 0
  /** Where the last token ended, and thus the one begins that is at fault when one is. */
  #tokenAt = 0
  #tokenLine = 1
  #isEnding = false
  /** Where an element ended of which the sink is not told yet. */
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
    // it says so before it looks whether the end tag is that of another element
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
      if (this.#closedAt !== parser.position) this.#tellClose()
      const fault = message.replace(/\.$/, '')
      throw this.#error(this.#isEnding ? `the file ends in the middle: ${fault}` : fault)
    })
  }

  /** Throws `TrackFileError` where the text is no XML, or a part of it is too long. */
  read(text: string): void {
    this.#parser.write(text)
    this.#tellClose()
    this.#length += text.length
    if (this.#length - this.#tokenAt > TOKEN_LIMIT)
      throw this.#error('a tag, a comment or a text does not end: this is no XML')
  }

  /** Throws `TrackFileError` when an element is still open, or there was none. */
  end(): void {
    if (this.#length === 0) throw new TrackFileError('the file is empty, which is no XML')
    this.#isEnding = true
    this.#parser.close()
  }

  #token(): void {
    this.#tellClose()
    this.#tokenAt = this.#parser.position
    this.#tokenLine = this.#parser.line
  }

  #tellClose(): void {
    if (this.#closedAt === undefined) return
    this.#closedAt = undefined
    this.#sink.close()
  }

  #error(message: string): TrackFileError {
    return new TrackFileError(`line ${this.#tokenLine}: ${message}`)
  }
}
