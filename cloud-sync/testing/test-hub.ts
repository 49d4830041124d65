import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { partHash } from '#shared/sync-hash.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import {
  type Audit,
  auditSchema,
  type Hello,
  helloSchema,
  type Intent,
  type Latest,
  latestSchema,
  type Push,
  pushSchema,
  type SyncCursors,
  type SyncLimits,
  type SyncStream,
  type SyncWarning,
} from '#shared/wire/replication/sync.ts'
import { atMsOf, byStream, groupsOf, STREAM_OF, type TestRow } from './memory-source.ts'

/** Fault of a request or its response. */
export type Fault =
  /** The connection ends before the request is read. */
  | 'cut_before'
  /** Applied, and the connection ends before the response. */
  | 'cut_after'
  /** Applied, and half of the response is sent. */
  | 'truncate'
  /** Applied, and the response is not one of a hub. */
  | 'garble'
  /** Applied only when `release` is called, and never answered. */
  | 'late'
  /** Never applied and never answered. */
  | 'hang'
  /** Refused with this response. */
  | { status: number; code?: string; headers?: Record<string, string>; body?: unknown }

interface Answer {
  status: number
  body: unknown
  headers?: Record<string, string>
}

const LIMITS: SyncLimits = {
  part_bytes: 65_536,
  body_bytes: 262_144,
  parts: 16,
  min_interval_ms: 0,
  latest_interval_ms: 1000,
}

/** Data of one epoch at the hub. */
interface StoredEpoch {
  cursors: SyncCursors
  /** In order of arrival. */
  rows: Record<SyncStream, TestRow[]>
}

/** Hub that follows the protocol, in memory and over real HTTP, and misbehaves on request. */
export class TestHub {
  limits = LIMITS
  warnings: SyncWarning[] = []
  intents: Intent[] = []
  /** Behaves like hubs from before audits had `through_ms`. */
  isOld = false
  /** Clock of the hub. */
  nowMs: () => number = Date.now
  /** Called for every request. */
  faultOf: (path: string, body: unknown) => Fault | null = () => null
  readonly epochs = new Map<string, StoredEpoch>()
  /** Requests in order of arrival. */
  readonly hellos: Hello[] = []
  readonly pushes: Push[] = []
  readonly latest: Latest[] = []
  readonly audits: Audit[] = []
  readonly intentQueries: string[] = []
  readonly keys = new Set<string | undefined>()
  /** Rows that arrived again although they had been applied. */
  duplicates = 0
  readonly #server: Server
  #late: (() => void)[] = []

  constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => request.socket.destroy())
    })
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening')
    return `http://127.0.0.1:${address.port}`
  }

  /** Requests that wait for `release`. */
  get lateCount(): number {
    return this.#late.length
  }

  async start(): Promise<this> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.listen(0, '127.0.0.1', resolve)
    await promise
    return this
  }

  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    await promise
  }

  /** Closes idle connections. */
  closeIdle(): void {
    this.#server.closeIdleConnections()
  }

  /** Applies the late requests. */
  release(): void {
    for (const take of this.#late.splice(0)) take()
  }

  /** Returns the ids of the rows of a stream of an epoch, in order of arrival. */
  idsOf(epoch: string, stream: SyncStream): string[] {
    return (this.epochs.get(epoch)?.rows[stream] ?? []).map(({ id }) => id)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.isOld) response.setHeader('cartbarn-time', this.nowMs())
    response.setHeader('date', new Date(this.nowMs()).toUTCString())
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw).toString() : raw.toString()
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    const url = new URL(request.url ?? '', this.url)
    const path = url.pathname.replace('/sync/v1/', '')
    this.keys.add(request.headers.authorization)
    const fault = this.faultOf(path, body)
    const { socket } = request
    if (fault === 'hang') return
    if (fault === 'cut_before') return void socket.destroy()
    if (fault === 'late') return void this.#late.push(() => void this.#answer(path, url, body))
    if (fault !== null && typeof fault === 'object') {
      const { status, code = 'made_up', headers } = fault
      const problem = fault.body ?? { status, code, detail: `the test wants ${status}` }
      return write(response, { status, body: problem, ...(headers === undefined ? {} : { headers }) })
    }
    const answer = this.#answer(path, url, body)
    if (fault === 'cut_after') return void socket.destroy()
    if (fault === 'garble') return void response.end('<html>Welcome to the guest network</html>')
    if (fault === 'truncate') {
      const whole = JSON.stringify(answer.body)
      response.writeHead(answer.status, { 'content-length': whole.length })
      response.write(whole.slice(0, whole.length / 2), () => socket.destroy())
      return
    }
    write(response, answer)
  }

  #answer(path: string, url: URL, body: unknown): Answer {
    switch (path) {
      case 'hello':
        return this.#hello(helloSchema.parse(body))
      case 'push':
        return this.#push(pushSchema.parse(body))
      case 'latest':
        this.latest.push(latestSchema.parse(body))
        return { status: 200, body: { limits: this.limits, intents_waiting: false } }
      case 'audit':
        return this.#audit(auditSchema.parse(body))
      case 'intents': {
        this.intentQueries.push(url.search)
        const after = Number(url.searchParams.get('after'))
        return { status: 200, body: { intents: this.intents.filter(({ seq }) => seq > after) } }
      }
      default:
        return problem(404, 'not_found')
    }
  }

  #hello(hello: Hello): Answer {
    this.hellos.push(hello)
    const stored = this.epochs.get(hello.epoch) ?? { cursors: byStream(() => NO_CURSOR), rows: byStream(() => []) }
    this.epochs.set(hello.epoch, stored)
    const { cursors } = stored
    if (Object.entries(hello.ends).some(([name, end]) => cursors[name as SyncStream].seq > end))
      return problem(409, 'ahead')
    const { limits, warnings } = this
    const known = this.isOld ? {} : { audits_through: true }
    return { status: 200, body: { server_time_ms: hello.clock_ms, cursors, limits, warnings, ...known } }
  }

  #push({ epoch, instance, parts }: Push): Answer {
    const stored = this.epochs.get(epoch)
    if (stored === undefined) return problem(409, 'unknown_epoch')
    this.pushes.push({ epoch, instance, parts })
    const cursors = { ...stored.cursors }
    for (const part of parts) {
      const data = Buffer.from(part.data, 'base64')
      if (partHash(part, data) !== part.hash) return problem(400, 'invalid_hash')
      if (part.is_resend === true) continue
      const at = cursors[part.stream]
      if (at.seq !== part.from || at.hash !== part.prev_hash)
        return { status: 409, body: { status: 409, code: 'cursor', cursors: stored.cursors } }
      cursors[part.stream] = { seq: part.to, hash: part.hash }
    }
    const acked: Partial<SyncCursors> = {}
    for (const { stream, data, encoding, is_resend } of parts) {
      if (is_resend !== true) acked[stream] = cursors[stream]
      // this hub reads no other encoding
      if (encoding !== 'rows-1') continue
      this.#take(stored, stream, JSON.parse(Buffer.from(data, 'base64').toString()), is_resend === true)
    }
    stored.cursors = cursors
    const { limits, warnings } = this
    return { status: 200, body: { acked, limits, warnings, intents_waiting: false } }
  }

  #take({ rows }: StoredEpoch, stream: SyncStream, sent: readonly TestRow[], isResend: boolean): void {
    const known = new Set(rows[stream].map(({ id }) => id))
    for (const row of sent) {
      if (!known.has(row.id)) rows[stream].push(row)
      else if (!isResend) this.duplicates++
    }
  }

  #audit(audit: Audit): Answer {
    if (this.isOld && audit.groups.some(({ through_ms }) => through_ms !== undefined))
      return problem(400, 'invalid_body')
    this.audits.push(audit)
    const stream = STREAM_OF[audit.kind]
    const rows = stream === undefined ? [] : (this.epochs.get(audit.epoch)?.rows[stream] ?? [])
    const through = new Map(audit.groups.map(({ group, through_ms }) => [group, through_ms]))
    const isMeant = (row: TestRow) => atMsOf(row) <= (through.get(row.group) ?? Number.POSITIVE_INFINITY)
    const ours = groupsOf(rows.filter((row) => row.day === audit.day_ms && isMeant(row)))
    const resend: string[] = []
    const extra: { group: string; count: number }[] = []
    for (const { group, count, sum } of audit.groups) {
      const own = ours.find((other) => other.group === group)
      if (own !== undefined && own.count > count) extra.push({ group, count: own.count - count })
      else if (own?.count !== count || own.sum !== sum) resend.push(group)
    }
    return { status: 200, body: { resend, extra } }
  }
}

function problem(status: number, code: string): Answer {
  return { status, body: { status, code, detail: `this is ${code}` } }
}

function write(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
