import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { z } from 'zod'
import { AppError, InvalidRequestError } from '#shared/errors.ts'
import { throwValidationError } from '#shared/http/api-env.ts'
import { type JsonParts, MAX_KEYS, requireSimple } from '#shared/json-body.ts'

/** Maximum overhead of gzip for bytes that cannot be compressed. */
const GZIP_BYTES = 65_536
/**
 * Limits of bodies of many megabytes: enough for the states of 20,000 devices, none larger than the API of a gateway
 * accepts. More would block the main thread too long: large objects cost most.
 */
export const BODY_PARTS: JsonParts = { values: 450_000, keys: 450_000, keysOfOne: MAX_KEYS }
/** Timeout of the arrival of a body. A gateway that needs longer then sends less in one request. */
const BODY_MS = 20_000

const unzip = promisify(gunzip)

/** Limits of a body while it is in memory; `onBytes` throws if there is no room for more. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly onBytes: (bytes: number) => void
  /** Milliseconds; 20,000 by default. */
  readonly timeoutMs?: number | undefined
}

export class SlowBodyError extends AppError {
  constructor(timeoutMs: number) {
    const seconds = timeoutMs / 1000
    super('payload_too_large', 'body_timeout', `the body took longer than ${seconds} s: send less at once`)
  }
}

/** Reads a body, gzip or not, within both limits, compressed and uncompressed. Throws `body_timeout` if it is slow. */
export async function readJson(request: Request, { maxBytes, ...limits }: BodyLimits): Promise<unknown> {
  const encoding = request.headers.get('content-encoding')?.toLowerCase() ?? 'identity'
  if (encoding !== 'gzip' && encoding !== 'identity') {
    throw new AppError('unsupported_media_type', 'unsupported_media_type', 'send the body as gzip or as it is')
  }
  const isGzip = encoding === 'gzip'
  const bytes = await readBytes(request, { ...limits, maxBytes: isGzip ? maxBytes + GZIP_BYTES : maxBytes })
  const text = isGzip ? await unpack(bytes, maxBytes) : bytes
  if (isGzip) limits.onBytes(text.length)
  requireSimple(text, BODY_PARTS)
  try {
    return JSON.parse(text.toString('utf8'))
  } catch {
    throw new InvalidRequestError('invalid_body', 'the body is not valid JSON')
  }
}

/** Returns the value if it fits the schema. Throws `invalid_body` with each position that does not. */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { message, errors } = throwValidationError({ target: 'json', error: parsed.error, data: value })
  throw new InvalidRequestError('invalid_body', message, errors)
}

async function readBytes(request: Request, { maxBytes, onBytes, timeoutMs = BODY_MS }: BodyLimits): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.body === null) return Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  let length = 0
  // not cancelled on failure: that would close the connection before the response
  const reader = request.body.getReader()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new SlowBodyError(timeoutMs)), timeoutMs)
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise])
      if (done) return Buffer.concat(chunks)
      length += value.length
      if (length > maxBytes) throw tooLarge(maxBytes)
      onBytes(value.length)
      chunks.push(value)
    }
  } finally {
    clearTimeout(timer)
  }
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
