import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type FaultKind, type FaultPlan, NO_FAULTS, type RefusalStatus } from './faults.ts'
import { type HttpMessage, HttpMessageReader } from './http-messages.ts'

const HOST = '127.0.0.1'
const MAX_KEPT = 200
const REASONS: Record<RefusalStatus, string> = {
  413: 'Content Too Large',
  429: 'Too Many Requests',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
}

/** Network between a gateway and its hub, as bad as planned; a connection per request keeps a fault from the others. */
export class SyncProxy {
  /** Faults of the requests from now on. */
  plan: FaultPlan = NO_FAULTS
  /** Number of connections and requests by fault. */
  readonly counts = new Map<FaultKind, number>()
  readonly #hubPort: () => number
  readonly #random: () => number
  readonly #clients = new Set<Socket>()
  readonly #hubs = new Set<Socket>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #watchers = new Set<() => void>()
  /** Some of all pushes so far, for `repeatOld`. */
  readonly #kept: Buffer[] = []
  #seen = 0
  #port = 0
  #server: Server | null = null

  /** `hubPort` is called for every connection: a hub may return on another port. */
  constructor(hubPort: () => number, random: () => number = Math.random) {
    this.#hubPort = hubPort
    this.#random = random
  }

  get port(): number {
    return this.#port
  }

  /** Listens, on the same port as before if there was one. */
  async start(): Promise<void> {
    if (this.#server !== null) return
    const server = createServer({ noDelay: true }, (client) => this.#onClient(client))
    this.#server = server
    server.listen(this.#port, HOST)
    await once(server, 'listening')
    // an address of TCP is an object
    this.#port = (server.address() as AddressInfo).port
  }

  /** Simulates an unreachable hub: connections end, new ones are refused. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    for (const socket of [...this.#clients, ...this.#hubs]) socket.destroy()
    server.close()
    await once(server, 'close')
  }

  /** Repeats one of all pushes so far; discards the response. */
  async repeatOld(): Promise<void> {
    const bytes = this.#kept[Math.floor(this.#random() * this.#kept.length)]
    if (bytes === undefined) return
    this.#count('again')
    await this.#ask(bytes)
  }

  /** Resolves when a request is about to be sent to the hub, or after `limitMs`. */
  nextRequest(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#watchers.delete(end)
        resolve()
      }
      const timer = setTimeout(end, limitMs)
      this.#watchers.add(end)
    })
  }

  #onClient(client: Socket): void {
    if (this.plan.refuses()) {
      this.#count('refuse')
      client.resetAndDestroy()
      return
    }
    this.#clients.add(client)
    const reader = new HttpMessageReader()
    let turn = Promise.resolve()
    client.on('data', (chunk) => {
      for (const request of reader.take(chunk)) {
        turn = turn.then(() => (client.destroyed ? undefined : this.#handle(client, request)))
      }
    })
    // 'close' follows
    client.on('error', () => undefined)
    client.on('close', () => this.#clients.delete(client))
  }

  async #handle(client: Socket, { bytes, startLine }: HttpMessage): Promise<void> {
    const fault = this.plan.next(startLine)
    this.#count(fault.kind)
    // only pushes: an old state that is repeated would be believed until the next one
    if (startLine.includes('/push')) this.#keep(bytes)
    switch (fault.kind) {
      case 'none':
        return this.#pass(client, bytes)
      case 'cut before':
        client.resetAndDestroy()
        return
      case 'cut in request':
        await this.#ask(bytes.subarray(0, shareOf(bytes, fault.share)), 'broken off')
        client.resetAndDestroy()
        return
      case 'cut before answer':
        await this.#ask(bytes)
        client.resetAndDestroy()
        return
      case 'cut in answer': {
        const answer = await this.#ask(bytes)
        if (answer === null) client.resetAndDestroy()
        else client.end(answer.subarray(0, shareOf(answer, fault.share)))
        return
      }
      case 'delay':
        await this.#wait(fault.ms)
        return this.#pass(client, bytes)
      case 'twice':
        await Promise.all([this.#pass(client, bytes), this.#ask(bytes)])
        return
      case 'again':
        await this.#pass(client, bytes)
        this.#later(fault.afterMs, () => this.#ask(bytes))
        return
      case 'late':
        client.resetAndDestroy()
        this.#later(fault.afterMs, () => this.#ask(bytes))
        return
      case 'answer':
        client.write(refusal(fault.status, fault.retryAfterS))
    }
  }

  async #pass(client: Socket, bytes: Buffer): Promise<void> {
    const gone = new AbortController()
    const onClose = () => gone.abort()
    client.once('close', onClose)
    const answer = await this.#ask(bytes, 'whole', gone.signal)
    client.off('close', onClose)
    if (answer === null) client.destroy()
    else client.write(answer)
  }

  /** Null without a response: no hub, or a connection that ended too early. */
  #ask(bytes: Buffer, how: 'whole' | 'broken off' = 'whole', signal?: AbortSignal): Promise<Buffer | null> {
    return new Promise((resolve) => {
      const reader = new HttpMessageReader()
      const hub = connect({ host: HOST, port: this.#hubPort(), noDelay: true, ...(signal && { signal }) })
      this.#hubs.add(hub)
      hub.on('connect', () => {
        for (const resolve of this.#watchers) resolve()
        if (how === 'whole') hub.write(bytes)
        else hub.write(bytes, () => hub.resetAndDestroy())
      })
      hub.on('data', (chunk) => {
        const [answer] = reader.take(chunk)
        if (answer === undefined) return
        resolve(answer.bytes)
        hub.destroy()
      })
      // 'close' follows
      hub.on('error', () => undefined)
      hub.on('close', () => {
        this.#hubs.delete(hub)
        resolve(null)
      })
    })
  }

  /** Reservoir sampling: each push so far is equally likely to be kept. */
  #keep(bytes: Buffer): void {
    this.#seen++
    if (this.#kept.length < MAX_KEPT) {
      this.#kept.push(Buffer.from(bytes))
      return
    }
    const place = Math.floor(this.#random() * this.#seen)
    if (place < MAX_KEPT) this.#kept[place] = Buffer.from(bytes)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#later(ms, resolve))
  }

  #later(ms: number, act: () => unknown): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      act()
    }, ms)
    this.#timers.add(timer)
  }

  #count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
  }
}

/** At least one byte, and never all of them. */
function shareOf(bytes: Buffer, share: number): number {
  return Math.min(bytes.length - 1, 1 + Math.floor(share * (bytes.length - 1)))
}

function refusal(status: RefusalStatus, retryAfterS: number): string {
  const code = status === 413 ? 'payload_too_large' : 'unavailable'
  const body = JSON.stringify({ type: 'about:blank', title: REASONS[status], status, code })
  const retry = status === 413 ? '' : `Retry-After: ${retryAfterS}\r\n`
  return (
    `HTTP/1.1 ${status} ${REASONS[status]}\r\n${retry}Content-Type: application/problem+json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}
