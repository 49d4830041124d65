import { TrackFileError } from './track-reader.ts'

/** Told of elements and text, in the order of the file; names as they stand, with their prefixes. */
export interface XmlSink {
  open(name: string, attributes: () => Record<string, string>): void
  close(name: string): void
  /** A piece of text; the whole of it may come in several, decoded. */
  text(piece: string): void
}

const NAME = '[^\\s<>/="\'&;]+'
const START_TAG = new RegExp(`^<(${NAME})((?:\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(/?)>$`)
const ATTRIBUTE = new RegExp(`(${NAME})\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'g')
const END_TAG = new RegExp(`^</(${NAME})\\s*>$`)

/** What may stand between `<` and `>`; comments and the like are longer. */
const TAG_LIMIT = 65_536
const DEPTH_LIMIT = 100
/** Longer than `<![CDATA[`, and than any reference to a character. */
const LOOK_AHEAD = 16

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/**
 * Reads the XML that programs write, as it comes: elements, attributes, text, CDATA, comments and the five entities
 * every document has. A DOCTYPE is refused, so no other entity can be declared. Source: https://www.w3.org/TR/xml/
 */
export class XmlTokens {
  readonly #sink: XmlSink
  readonly #open: string[] = []
  #rest = ''
  #isRootDone = false

  constructor(sink: XmlSink) {
    this.#sink = sink
  }

  read(text: string): void {
    this.#rest = this.#tokens(this.#rest + text, false)
  }

  /** Throws `TrackFileError` when an element is still open, or there was none. */
  end(): void {
    const rest = this.#tokens(this.#rest, true)
    const unclosed = this.#open.at(-1)
    if (rest !== '' || unclosed !== undefined)
      throw new TrackFileError(
        `the file ends in the middle${unclosed === undefined ? '' : `, within <${unclosed}>`}`,
      )
    if (!this.#isRootDone) throw new TrackFileError('the file is empty, which is no XML')
  }

  /** Returns what is not complete yet. */
  #tokens(data: string, isEnd: boolean): string {
    let at = 0
    for (;;) {
      const start = data.indexOf('<', at)
      const textEnd = start === -1 ? data.length : start
      const isWhole = start !== -1 || isEnd
      const cut = isWhole ? textEnd : beforeReference(data, at)
      if (cut > at) this.#text(data.slice(at, cut))
      if (start === -1) return data.slice(cut)
      if (data.length - start < LOOK_AHEAD && !isEnd) return data.slice(start)
      const end = this.#markup(data, start)
      if (end === -1) return data.slice(start)
      at = end
    }
  }

  /** Takes the markup that begins at `start`; returns where it ends, -1 if that is not there yet. */
  #markup(data: string, start: number): number {
    if (data.startsWith('<!--', start)) return endOf(data, '-->', start + 4)
    if (data.startsWith('<![CDATA[', start)) {
      const end = endOf(data, ']]>', start + 9)
      if (end !== -1) this.#literal(data.slice(start + 9, end - 3))
      return end
    }
    if (data.startsWith('<?', start)) return endOf(data, '?>', start + 2)
    if (data.startsWith('<!', start))
      throw new TrackFileError('the file has a DOCTYPE, and entities of its own are not read')
    const end = tagEnd(data, start)
    if (end !== -1) this.#tag(data.slice(start, end))
    else if (data.length - start > TAG_LIMIT) throw new TrackFileError('a tag does not end: this is no XML')
    return end
  }

  #tag(tag: string): void {
    const ended = END_TAG.exec(tag)?.[1]
    if (ended === undefined) this.#start(tag)
    else this.#close(ended)
  }

  #start(tag: string): void {
    const [, name, attributes = '', slash] = START_TAG.exec(tag) ?? []
    if (name === undefined) throw new TrackFileError(`"${tag.slice(0, 60)}" is no XML`)
    if (this.#isRootDone && this.#open.length === 0)
      throw new TrackFileError(`<${name}> follows the end of the document`)
    if (this.#open.length >= DEPTH_LIMIT) throw new TrackFileError('elements are nested too deep')
    this.#open.push(name)
    this.#isRootDone = true
    this.#sink.open(name, () => readAttributes(attributes))
    if (slash === '/') this.#close(name)
  }

  #close(name: string): void {
    const open = this.#open.pop()
    if (open !== name)
      throw new TrackFileError(`</${name}> ends ${open === undefined ? 'nothing' : `<${open}>`}`)
    this.#sink.close(name)
  }

  #text(raw: string): void {
    if (this.#open.length === 0) {
      if (raw.trim() !== '') this.#literal(raw)
    } else this.#sink.text(raw.includes('&') ? decode(raw) : raw)
  }

  #literal(text: string): void {
    if (this.#open.length === 0)
      throw new TrackFileError('text stands outside of the elements: this is no XML')
    this.#sink.text(text)
  }
}

function endOf(data: string, mark: string, from: number): number {
  const at = data.indexOf(mark, from)
  if (at === -1 && data.length - from > TAG_LIMIT * 16) throw new TrackFileError(`"${mark}" is missing`)
  return at === -1 ? -1 : at + mark.length
}

/** The end of a tag; `>` within quotes is a part of it. */
function tagEnd(data: string, start: number): number {
  for (let at = start + 1; at < data.length; at++) {
    const code = data[at]
    if (code === '>') return at + 1
    if (code === '"' || code === "'") {
      at = data.indexOf(code, at + 1)
      if (at === -1) return -1
    } else if (code === '<') throw new TrackFileError(`"${data.slice(start, at).slice(0, 60)}" is no XML`)
  }
  return -1
}

/** Where text can be cut so that no reference is: before the last `&` if that is near the end. */
function beforeReference(data: string, from: number): number {
  const at = data.lastIndexOf('&')
  return at >= from && data.length - at < LOOK_AHEAD ? at : data.length
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = {}
  for (const [, name = '', double, single] of text.matchAll(ATTRIBUTE))
    attributes[name] = decode(double ?? single ?? '')
  return attributes
}

function decode(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,8}));|&/gi, (match, decimal, hex, name) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    if (code <= 0x10_ff_ff) return String.fromCodePoint(code)
    const character = ENTITIES[name ?? '']
    if (character === undefined) throw new TrackFileError(`"${match}" is declared nowhere`)
    return character
  })
}
