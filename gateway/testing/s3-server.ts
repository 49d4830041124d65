import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Fault that the store shows instead of serving a request; undefined for none. */
export type S3Trouble =
  | { status: number; code?: string; headers?: Record<string, string> }
  /** Closes the connection after reading this much of the request. */
  | { cutAfterBytes: number }
  /** Never responds. */
  | 'hang'
  | undefined

const KEY_ID = 'AKIDOFATEST'
const SECRET = 'secret/of+a/test'
const PAGE = 1_000
const SKEW_MS = 15 * 60_000

/**
 * Store with the part of S3 that backups need, over real HTTP: it verifies each signature and the checksum of each body
 * itself, and keeps the objects in memory. Source:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
export class S3Server {
  readonly objects = new Map<string, Buffer>()
  readonly requests: { method: string; key: string; query: URLSearchParams }[] = []
  readonly settings = { endpoint: '', region: 'eu-test-1', keyId: KEY_ID, secret: SECRET }
  bucket = 'barn'
  /** Limit of stored bytes. */
  capacity = Number.POSITIVE_INFINITY
  trouble: (method: string, key: string) => S3Trouble = () => undefined
  /** Largest number of requests read at the same time. */
  mostAtOnce = 0
  #atOnce = 0

  static async open(t: { after: (end: () => void) => void }): Promise<S3Server> {
    const store = new S3Server()
    const server = createServer((request, response) => void store.#take(request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    // a listening TCP server has an address and a port
    const { port } = server.address() as AddressInfo
    store.settings.endpoint = `http://127.0.0.1:${port}`
    return store
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.settings.endpoint)
    const [bucket = '', ...names] = url.pathname.slice(1).split('/')
    const key = names.join('/')
    const method = request.method ?? ''
    this.requests.push({ method, key, query: url.searchParams })
    const trouble = this.trouble(method, key)
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce)
    const body = await readBody(
      request,
      typeof trouble === 'object' && 'cutAfterBytes' in trouble ? trouble.cutAfterBytes : undefined,
    )
    this.#atOnce--
    if (body === null || trouble === 'hang') return
    if (trouble !== undefined && 'status' in trouble) {
      refuse(response, trouble.status, trouble.code, trouble.headers)
      return
    }
    const fault = this.#signatureFault(request, url, body)
    if (fault !== null) refuse(response, 403, fault)
    else if (bucket !== this.bucket) refuse(response, 404, 'NoSuchBucket')
    else this.#answer(method, key, url.searchParams, body, response)
  }

  #answer(method: string, key: string, query: URLSearchParams, body: Buffer, response: ServerResponse): void {
    if (method === 'GET' && key === '' && query.get('list-type') === '2') {
      response.writeHead(200, { 'content-type': 'application/xml' }).end(this.#list(query))
      return
    }
    if (method === 'PUT') {
      const held = [...this.objects.values()].reduce((sum, { length }) => sum + length, 0)
      if (held + body.length > this.capacity) refuse(response, 507, 'XMinioStorageFull')
      else {
        this.objects.set(key, body)
        response.writeHead(200).end()
      }
      return
    }
    const object = this.objects.get(key)
    if (method === 'DELETE') {
      this.objects.delete(key)
      response.writeHead(204).end()
    } else if (object === undefined) refuse(response, 404, 'NoSuchKey')
    else response.writeHead(200).end(object)
  }

  #list(query: URLSearchParams): string {
    const prefix = query.get('prefix') ?? ''
    const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString()
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const page = keys.slice(0, Math.min(PAGE, Number(query.get('max-keys') ?? PAGE)))
    const isCut = page.length < keys.length
    const entries = page.map(
      (key) =>
        `<Contents><Key>${key}</Key><Size>${this.objects.get(key)?.length}</Size><Owner><ID>x</ID></Owner></Contents>`,
    )
    const token = `<NextContinuationToken>${Buffer.from(page.at(-1) ?? '').toString('base64')}</NextContinuationToken>`
    return `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${this.bucket}</Name>
<IsTruncated>${isCut}</IsTruncated>${isCut ? token : ''}${entries.join('\n')}</ListBucketResult>`
  }

  /** Returns the error code of a wrong signature; null if it is right. */
  #signatureFault({ method, headers }: IncomingMessage, url: URL, body: Buffer): string | null {
    const match =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? '',
      )
    const [, keyId, day = '', region = '', names = '', signature] = match ?? []
    if (match === null) return 'AccessDenied'
    if (keyId !== this.settings.keyId) return 'InvalidAccessKeyId'
    if (region !== this.settings.region) return 'AuthorizationHeaderMalformed'
    const at = String(headers['x-amz-date'])
    const atMs = Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
    if (!(Math.abs(atMs - Date.now()) < SKEW_MS) || !at.startsWith(day)) return 'RequestTimeTooSkewed'
    const sum = createHash('sha256').update(body).digest('hex')
    if (headers['x-amz-content-sha256'] !== sum) return 'XAmzContentSHA256Mismatch'
    const signed = names.split(';')
    if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => signed.includes(name))) return 'AccessDenied'
    const query = [...url.searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .sort()
      .join('&')
    const path = url.pathname.split('/').map((part) => encode(decodeURIComponent(part)))
    const lines = signed.map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`)
    const canonical = [method, path.join('/'), query, lines.join(''), names, sum].join('\n')
    const scope = `${day}/${region}/s3/aws4_request`
    const text = ['AWS4-HMAC-SHA256', at, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
    const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
      (secret, part) => createHmac('sha256', secret).update(part).digest(),
      `AWS4${SECRET}`,
    )
    const right = createHmac('sha256', key).update(text).digest('hex')
    return signature === right ? null : 'SignatureDoesNotMatch'
  }
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Returns null if the connection was cut, by the store or by the client. */
async function readBody(request: IncomingMessage, cutAfterBytes: number | undefined): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  const { socket } = request
  let bytes = 0
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      pieces.push(piece)
      bytes += piece.length
      if (cutAfterBytes !== undefined && bytes >= cutAfterBytes) break
    }
  } catch {
    return null
  }
  if (cutAfterBytes === undefined) return Buffer.concat(pieces)
  socket.destroy()
  return null
}

/** Rejects as a real store does, including content that must not reach a log. */
function refuse(response: ServerResponse, status: number, code?: string, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, headers)
    .end(
      code === undefined
        ? 'broken'
        : '<?xml version="1.0" ' +
            `encoding="UTF-8"?><Error><Code>${code}</Code><Message>no</Message>` +
            `<AWSAccessKeyId>${KEY_ID}</AWSAccessKeyId><StringToSign>${SECRET}</StringToSign></Error>`,
    )
}
