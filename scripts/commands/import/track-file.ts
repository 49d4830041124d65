import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { TextDecoder } from 'node:util'
import { CommandError, type CommandIo, pathFrom, systemCode } from '#scripts/cli/command.ts'
import { utf16In } from '#shared/history/text-encoding.ts'
import { TrackFileError } from './track-reader.ts'

/** Longer than any XML declaration. */
const DECLARATION_LIMIT = 200

/** File, or standard input. */
export interface TrackFile {
  name: string
  stream: Readable
  /** Null if unknown, as for a pipe. */
  bytes: number | null
}

/** Opens the file named on the command line. Throws `CommandError`. */
export async function openTrackFile(path: string, io: CommandIo): Promise<TrackFile> {
  if (path === '-') return { name: 'standard input', stream: io.stdin, bytes: null }
  const full = pathFrom(io, path)
  try {
    const found = await stat(full)
    if (found.isDirectory()) throw new CommandError(`${path} is a folder`)
    const bytes = found.isFile() ? found.size : null
    return { name: basename(path), stream: createReadStream(full), bytes }
  } catch (error) {
    throw unreadable(path, error)
  }
}

/**
 * Yields the text of a file in chunks, in the given encoding or the one it declares; `onBytes` receives the number of
 * bytes read. Throws `TrackFileError` if bytes are invalid in this encoding: reading on would produce wrong records.
 */
export async function* textOf(
  { name, stream }: TrackFile,
  encoding: string | undefined,
  isXml: boolean,
  onBytes: (bytes: number) => void,
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  let read = 0
  try {
    for await (const bytes of inChunksFrom(stream, DECLARATION_LIMIT)) {
      decoder ??= decoderOf(utf16In(bytes) ?? encoding ?? (isXml ? declaredEncoding(bytes) : 'utf-8'))
      const text = decode(decoder, read, bytes)
      read += bytes.length
      onBytes(read)
      if (text !== '') yield text
    }
  } catch (error) {
    throw unreadable(name, error)
  }
  if (decoder !== undefined) yield decode(decoder, read)
}

function decode(decoder: TextDecoder, offset: number, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
  } catch {
    throw new TrackFileError(
      `the file is not ${decoder.encoding}, at the latest after ${offset} bytes: give --encoding, such as windows-1252`,
    )
  }
}

/** Yields the bytes of a stream; the first chunk has `leastBytes` if there are as many: a pipe may deliver one byte. */
async function* inChunksFrom(stream: Readable, leastBytes: number): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | undefined = Buffer.alloc(0)
  for await (const chunk of stream) {
    // no encoding was set on it
    const bytes = chunk as Uint8Array
    if (start === undefined) yield bytes
    else {
      start = Buffer.concat([start, bytes])
      if (start.length < leastBytes) continue
      yield start
      start = undefined
    }
  }
  if (start !== undefined) yield start
}

/** Returns the encoding named by an XML declaration. Source: https://www.w3.org/TR/xml/#NT-EncodingDecl */
function declaredEncoding(bytes: Uint8Array): string {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, DECLARATION_LIMIT))
  return /^<\?xml\s[^>]*?\sencoding\s*=\s*["']([\w.-]+)["']/.exec(start)?.[1] ?? 'utf-8'
}

function decoderOf(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding, { fatal: true })
  } catch {
    throw new TrackFileError(
      `the file declares ${encoding}, which is not supported: give --encoding, or save it as UTF-8`,
    )
  }
}

function unreadable(name: string, error: unknown): unknown {
  const code = systemCode(error)
  return code === undefined ? error : new CommandError(`${name} cannot be read: ${code}`)
}
