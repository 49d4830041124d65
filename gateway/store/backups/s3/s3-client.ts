import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { describeError } from '#shared/errors.ts'
import { BackupFault, UnreachableFault } from '../backup-fault.ts'
import { MOST_SEALED_BYTES } from '../blob-cipher.ts'
import type { S3Settings } from './s3-address.ts'

/** Response of a store, unless it is an error. */
export interface S3Answer {
  /** False if nothing exists under that name. */
  readonly isFound: boolean
  readonly body: Buffer
}

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  /** Key with characters that need no encoding. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly content?: Buffer
  /** Maximum size of a response; a longer one is refused. */
  readonly mostBytes?: number
}

export interface S3Timeouts {
  /** Timeout of one request: at 110 kbit/s the largest chunk takes five minutes. */
  readonly limitMs: number
  /** Delays before each further attempt. */
  readonly waitsMs: readonly number[]
}

const PATIENCE: S3Timeouts = { limitMs: 300_000, waitsMs: [1_000, 5_000, 20_000] }
/** Chunks have 4 MB, or the size of a single row: anything larger was not written by this program. */
export const MOST_S3_BYTES = MOST_SEALED_BYTES

/**
 * Sends signed requests to one bucket, and retries while the store does not respond or is too busy. Bodies are signed
 * too, so that the store refuses content altered in transit. Errors are `BackupFault`s, and contain no key.
 */
export class S3Client {
  readonly #settings: S3Settings
  readonly #bucket: string
  readonly #shown: string
  readonly #patience: S3Timeouts
  readonly #signingKeys = new Map<string, ArrayBuffer>()

  constructor(settings: S3Settings, bucket: string, shown: string, patience = PATIENCE) {
    this.#settings = settings
    this.#bucket = bucket
    this.#shown = shown
    this.#patience = patience
  }

  async send(request: S3Request): Promise<S3Answer> {
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#try(request)
      if ('answer' in outcome) return outcome.answer
      const waitMs = this.#patience.waitsMs[attempt]
      if (waitMs === undefined)
        throw new UnreachableFault(`${this.#shown}: ${outcome.problem}`, { cause: outcome.cause })
      await sleep(waitMs)
    }
  }

  async #try(request: S3Request): Promise<{ answer: S3Answer } | { problem: string; cause?: unknown }> {
    const signal = AbortSignal.timeout(this.#patience.limitMs)
    let response: Response
    let body: Buffer
    try {
      response = await this.#fetch(request, signal)
      body = await this.#readBody(response, request.mostBytes)
    } catch (error) {
      if (error instanceof BackupFault) throw error
      const problem = signal.aborted
        ? `the store did not answer within ${this.#patience.limitMs / 1000} s`
        : `the store cannot be reached (${networkWords(error)})`
      return { problem, cause: error }
    }
    const { status } = response
    if (status >= 200 && status < 300) return { answer: { isFound: true, body } }
    const code = codeIn(body)
    if (status === 404 && (request.method === 'DELETE' || code === 'NoSuchKey'))
      return { answer: { isFound: false, body: Buffer.alloc(0) } }
    const problem = this.#problemOf(request, response, code)
    if (isWorthAnotherTry(status, code)) return { problem }
    throw new UnreachableFault(`${this.#shown}: ${problem}`)
  }

  async #fetch({ method, key, query = {}, content }: S3Request, signal: AbortSignal): Promise<Response> {
    const { endpoint, region, keyId, secret } = this.#settings
    const path = [this.#bucket, ...(key === '' ? [] : [key])].join('/')
    const url = new URL(`${endpoint.replace(/\/+$/, '')}/${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const signer = new AwsV4Signer({
      url: url.href,
      method,
      region,
      service: 's3',
      cache: this.#signingKeys,
      accessKeyId: keyId,
      secretAccessKey: secret,
      headers: {
        'X-Amz-Content-Sha256': createHash('sha256')
          .update(content ?? '')
          .digest('hex'),
      },
    })
    const { headers, url: signed } = await signer.sign()
    // no redirects, because the signature is valid for this address only
    return fetch(signed, { method, headers, body: content ?? null, redirect: 'manual', signal })
  }

  async #readBody({ body }: Response, mostBytes = MOST_S3_BYTES): Promise<Buffer> {
    if (body === null) return Buffer.alloc(0)
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > mostBytes) throw new BackupFault(`${this.#shown}: the store sent more bytes than this program writes`)
      pieces.push(piece)
    }
    return Buffer.concat(pieces)
  }

  #problemOf({ method }: S3Request, response: Response, code: string): string {
    const { status, headers } = response
    if (status >= 300 && status < 400) {
      const to = URL.parse(headers.get('location') ?? '')?.origin
      const region = headers.get('x-amz-bucket-region')
      const hint = [
        ...(to === undefined ? [] : [`CARTBARN_BACKUP_S3_ENDPOINT to ${to}`]),
        ...(region === null ? [] : [`CARTBARN_BACKUP_S3_REGION to ${region}`]),
      ]
      return `the bucket is elsewhere: set ${hint.join(' and ') || 'CARTBARN_BACKUP_S3_ENDPOINT to its address'}`
    }
    const known = PROBLEMS.find(([codes]) => codes.test(code))?.[1]
    if (known !== undefined) return known
    if (status === 403) return `the store does not allow this key to ${VERBS[method]} there`
    if (status === 404) return 'there is no such bucket'
    if (status === 507) return FULL
    return `the store answered ${method} with ${status}${code === '' ? '' : ` ${code}`}`
  }
}

const VERBS = { GET: 'read', PUT: 'write', DELETE: 'delete' } as const
const FULL = 'the store is full: free some space, or keep fewer backups'

/** Error codes and their explanations for the operator. */
const PROBLEMS: readonly (readonly [codes: RegExp, text: string])[] = [
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken)$/,
    'the store does not accept the key: see CARTBARN_BACKUP_S3_KEY_ID and CARTBARN_BACKUP_S3_SECRET',
  ],
  [/^RequestTimeTooSkewed$/, 'the clock of this machine is too far from that of the store'],
  [/^NoSuchBucket$/, 'there is no such bucket'],
  [
    /^(AuthorizationHeaderMalformed|IncorrectEndpoint|PermanentRedirect)$/,
    'the bucket is in another region: see CARTBARN_BACKUP_S3_REGION',
  ],
  [/^(QuotaExceeded|XMinioStorageFull|XMinioAdminBucketQuotaExceeded|StorageFull)$/, FULL],
]

function isWorthAnotherTry(status: number, code: string): boolean {
  if (/StorageFull|Quota/.test(code) || status === 501 || status === 507) return false
  return status >= 500 || status === 429 || /^(SlowDown|RequestTimeout|Throttling)/.test(code)
}

/** Returns the code of an error only: the rest may contain keys. */
function codeIn(body: Buffer): string {
  return /<Code>([A-Za-z]{1,60})<\/Code>/.exec(body.subarray(0, 10_000).toString())?.[1] ?? ''
}

function networkWords(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return describeError(cause) || 'no connection'
}
