import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { InvalidRequestError } from '#shared/errors.ts'

/** Maximum bytes of a line: the largest part that a hub accepts, in base64, and its other fields. */
const MAX_LINE_BYTES = 4 << 20
const NEWLINE = 0x0a

/**
 * Yields the lines of a gzip file singly: the uncompressed file is never in memory as a whole. Throws `invalid_file` if
 * it is not gzip, ends early, or has a line of more than 4 MB.
 */
export async function* fileLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  // errors of the pipeline are thrown by the loop
  const unpacked = pipeline(Readable.from(body), createGunzip(), () => undefined)
  let rest: Buffer[] = []
  let restBytes = 0
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        yield Buffer.concat([...rest, chunk.subarray(from, at)]).toString()
        rest = []
        restBytes = 0
        from = at + 1
      }
      rest.push(chunk.subarray(from))
      restBytes += chunk.length - from
      if (restBytes > MAX_LINE_BYTES) throw new InvalidRequestError('invalid_file', 'a line is too long')
    }
  } catch (error) {
    if (error instanceof InvalidRequestError) throw error
    throw new InvalidRequestError('invalid_file', 'this is not a file of sync:export, or it is incomplete')
  }
  if (restBytes > 0) throw new InvalidRequestError('invalid_file', 'the file ends in the middle of a line')
}
