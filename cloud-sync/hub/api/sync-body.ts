import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { z } from 'zod'
import { AppError, InvalidRequestError } from '#shared/errors.ts'
import { refuseInvalid } from '#shared/http/api-env.ts'
import { isNestedTooDeep } from '#shared/wire/json-object.ts'

const MAX_GZIP_BYTES = 33_554_432

const unzip = promisify(gunzip)

/** Reads a body, gzip or not, but never more than is allowed, packed and unpacked. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const encoding = request.headers.get('content-encoding')?.toLowerCase() ?? 'identity'
  if (encoding !== 'gzip' && encoding !== 'identity') {
    throw new AppError(
      'unsupported_media_type',
      'unsupported_media_type',
      'send the body as gzip or as it is',
    )
  }
  const isGzip = encoding === 'gzip'
  const bytes = await readBytes(request, isGzip ? MAX_GZIP_BYTES : maxBytes)
  const text = isGzip ? await unpack(bytes, maxBytes) : bytes
  let value: unknown
  try {
    value = JSON.parse(text.toString('utf8'))
  } catch {
    throw new InvalidRequestError('invalid_body', 'the body is not valid JSON')
  }
  if (isNestedTooDeep(value)) throw new InvalidRequestError('invalid_body', 'the body is nested too deep')
  return value
}

/** The value, when it fits the schema. Throws `invalid_body` with each place that does not. */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { message, errors } = refuseInvalid({ target: 'json', error: parsed.error, data: value })
  throw new InvalidRequestError('invalid_body', message, errors)
}

async function readBytes(request: Request, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.body === null) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function unpack(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(maxBytes)
    throw new InvalidRequestError('invalid_body', 'the body is not valid gzip data')
  }
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('payload_too_large', 'payload_too_large', `the body may have at most ${maxBytes} bytes`)
}
