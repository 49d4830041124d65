import { randomBytes, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { partHash } from '#shared/sync-hash.ts'
import { encodeBlocks } from '#shared/telemetry/blocks.ts'
import { encodeRuns, type TelemetryRun } from '#shared/telemetry/runs.ts'
import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { Hello, SyncCursors, SyncPart, SyncStream } from '#shared/wire/replication/sync.ts'

export interface SyncAnswer {
  status: number
  headers: Headers
  // tests look into answers of every shape
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
}

/** Content of a part, encoded. */
interface Content {
  data: Uint8Array
  count: number
  encoding: string
}

interface PartOptions {
  to?: number
  before?: SyncPart | undefined
  isResend?: boolean
}

/** Target of requests: an app, or a socket. */
export type Send = (path: string, init: RequestInit) => Response | Promise<Response>

/** Gateway's side of the protocol, step by step. */
export class SiteClient {
  readonly siteId: string
  key: string
  readonly instance: string = randomUUID()
  readonly #send: Send
  epoch = randomBytes(16).toString('hex')
  cursors: SyncCursors = noCursors()

  constructor(send: Send, siteId: string, key: string) {
    this.#send = send
    this.siteId = siteId
    this.key = key
  }

  /** Path of the site in the API of users. */
  get path(): string {
    return `/sites/${this.siteId}`
  }

  /** Returns another start of a gateway with the same database. */
  restarted(): SiteClient {
    const client = new SiteClient(this.#send, this.siteId, this.key)
    client.epoch = this.epoch
    client.cursors = { ...this.cursors }
    return client
  }

  /** Returns a gateway with this one's database restored from a backup: a new epoch, which has sent hello. */
  async forked(fields: Partial<Hello> = {}): Promise<SiteClient> {
    const fork = this.restarted()
    fork.epoch = randomBytes(16).toString('hex')
    await fork.hello({ forked_from: { epoch: this.epoch, reason: 'restored from a backup' }, ...fields })
    return fork
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<SyncAnswer> {
    const init: RequestInit = { method, headers: { authorization: `Bearer ${this.key}`, ...headers } }
    if (body !== undefined) {
      init.body = body instanceof Uint8Array ? Buffer.from(body) : gzipSync(JSON.stringify(body))
      init.headers = { 'content-encoding': 'gzip', ...init.headers }
    }
    const response = await this.#send(`/sync/v1${path}`, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
  }

  async hello(fields: Partial<Hello> = {}): Promise<SyncAnswer> {
    const answer = await this.request('POST', '/hello', {
      protocol: 1,
      site: this.siteId,
      epoch: this.epoch,
      instance: this.instance,
      forked_from: null,
      program: 'cartbarn 0.1.0',
      clock_ms: Date.now(),
      clock_trusted: true,
      ends: endsOf(this.cursors, 1_000_000),
      ...fields,
    })
    if (answer.status === 200) this.cursors = answer.body.cursors
    return answer
  }

  /** Returns the next part of a stream, after `before` if given. */
  part(stream: SyncStream, content: Content, { to, before, isResend = false }: PartOptions = {}): SyncPart {
    const at = before === undefined ? this.cursors[stream] : { seq: before.to, hash: before.hash }
    const { data, count, encoding } = content
    const position = isResend
      ? { from: 0, to: 0, prev_hash: NO_CURSOR.hash }
      : { from: at.seq, to: to ?? at.seq + Math.max(1, count), prev_hash: at.hash }
    const part = { stream, ...position, count, encoding }
    return {
      ...part,
      hash: partHash(part, data),
      data: Buffer.from(data).toString('base64'),
      ...(isResend ? { is_resend: true } : {}),
    }
  }

  /** Sends parts; the cursors follow the acknowledgements. */
  async push(...parts: SyncPart[]): Promise<SyncAnswer> {
    const answer = await this.request('POST', '/push', { epoch: this.epoch, instance: this.instance, parts })
    if (answer.status === 200) this.cursors = { ...this.cursors, ...answer.body.acked }
    return answer
  }

  /** Sends rows as the next part of a stream. */
  pushRows(stream: SyncStream, rows: readonly unknown[], options: PartOptions = {}): Promise<SyncAnswer> {
    return this.push(this.part(stream, rowsContent(rows), options))
  }

  /** Sends entities, numbered after those sent before; a null body is a deleted entity. */
  pushEntities(...entities: readonly { table: string; key: string; body: unknown }[]): Promise<SyncAnswer> {
    const first = this.cursors.entities.seq + 1
    return this.pushRows(
      'entities',
      entities.map((entity, i) => ({ seq: first + i, ...entity })),
    )
  }

  /** Sends live telemetry. */
  pushRuns(runs: readonly TelemetryRun[], options: PartOptions = {}): Promise<SyncAnswer> {
    return this.push(this.part('telemetry', runsContent(runs), options))
  }

  /** Sends older telemetry. */
  pushBlocks(blocks: Parameters<typeof blocksContent>[0], options: PartOptions = {}): Promise<SyncAnswer> {
    return this.push(this.part('history', blocksContent(blocks), options))
  }

  /** Sends a part with content that no hub can read. */
  pushPoison(data: Uint8Array | string, count = 1): Promise<SyncAnswer> {
    return this.push(this.part('telemetry', { data: Buffer.from(data), count, encoding: 'runs-1' }))
  }

  latest(fields: Record<string, unknown>): Promise<SyncAnswer> {
    return this.request('POST', '/latest', {
      epoch: this.epoch,
      instance: this.instance,
      at_ms: Date.now(),
      is_complete: false,
      devices: [],
      backlog: { rows: 0, oldest_ms: null },
      ...fields,
    })
  }

  audit(kind: string, dayMs: number | null, groups: unknown[]): Promise<SyncAnswer> {
    return this.request('POST', '/audit', { epoch: this.epoch, instance: this.instance, kind, day_ms: dayMs, groups })
  }
}

/** Returns the status and the error code of a response. */
export function codeOf({ status, body }: Pick<SyncAnswer, 'status' | 'body'>): [status: number, code: string] {
  return [status, body.code]
}

export function rowsContent(rows: readonly unknown[]): Content {
  return { data: Buffer.from(JSON.stringify(rows)), count: rows.length, encoding: 'rows-1' }
}

export function runsContent(runs: readonly TelemetryRun[]): Content {
  return { data: encodeRuns(runs), count: countRecords(runs), encoding: 'runs-1' }
}

export function blocksContent(blocks: readonly { hardwareId: string; block: Uint8Array; count: number }[]): Content {
  const count = blocks.reduce((sum, block) => sum + block.count, 0)
  return { data: encodeBlocks(blocks), count, encoding: 'blocks-1' }
}

function countRecords(runs: readonly TelemetryRun[]): number {
  return runs.reduce((sum, { records }) => sum + records.atMs.length, 0)
}

function noCursors(): SyncCursors {
  // covers all streams
  return Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, NO_CURSOR])) as SyncCursors
}

export function endsOf(cursors: SyncCursors, more: number): Record<SyncStream, number> {
  // covers all streams
  return Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, cursors[stream].seq + more])) as Record<
    SyncStream,
    number
  >
}
