import { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Duplex } from 'node:stream'
import type { Program } from './program.ts'
import { running, type VirtualTime } from './virtual-time.ts'

const net = createRequire(import.meta.url)('node:net')

type Run = <Result>(call: () => Result) => Result

/** Time for which a kernel sends again on a line that is cut, before it gives the connection up. */
const GIVE_UP_MS = 120_000
const CHECKING = 'connectionsCheckingInterval'
const CUT_ENDS = { client: ['client'], server: ['server'], both: ['client', 'server'] } as const

/** Called with all bytes that arrive. */
export type OnBytes = (line: string, bytes: Uint8Array) => void

interface Listener {
  readonly server: InstanceType<typeof net.Server>
  readonly program: Program | undefined
  readonly run: Run
}

/** Replaces TCP of this process: addresses are port numbers, and a connection is a pair of streams. */
export class Lines {
  readonly open = new Set<Line>()
  readonly #time: VirtualTime
  readonly #onBytes: OnBytes
  readonly #listeners = new Map<number, Listener>()
  #nextPort = 20_000
  #count = 0
  /** Called for each new line, which may get a delay or be cut. */
  readonly onOpen: ((line: Line) => void)[] = []

  constructor(time: VirtualTime, onBytes: OnBytes) {
    this.#time = time
    this.#onBytes = onBytes
  }

  install(): void {
    const lines = this
    const { prototype } = net.Server
    Object.assign(prototype, {
      listen(this: object, options: { port?: number }, onListening?: () => void) {
        return lines.#listen(this, options.port ?? 0, onListening)
      },
      address(this: object) {
        const port = lines.#portOf(this)
        return port === undefined ? null : { port, address: '127.0.0.1', family: 'IPv4' }
      },
      close(this: object, onClosed?: (error?: Error) => void) {
        return lines.#close(this, onClosed)
      },
    })
    Object.defineProperty(prototype, 'listening', {
      get(this: object) {
        return lines.#portOf(this) !== undefined
      },
    })
    const connect = (options: { port: number }, onConnected?: () => void) => {
      const end = this.connect(Number(options.port))
      if (onConnected !== undefined) end.once('connect', onConnected)
      return end
    }
    Object.assign(net, { connect, createConnection: connect })
    Object.assign(http.Agent.prototype, { createConnection: (options: { port: number }) => connect(options) })
    syncBuiltinESMExports()
  }

  /** Opens a connection for the program that runs at the moment. */
  connect(port: number): LineEnd {
    const number = ++this.#count
    const run = AsyncLocalStorage.snapshot() as Run
    const client = new LineEnd(this.#time, run, { localPort: 40_000 + (number % 20_000), remotePort: port })
    const program = running.getStore()
    const listener = this.#listeners.get(port)
    if (listener === undefined || listener.program?.isAlive === false) {
      this.#time.post(run, () => {
        client.destroy(
          Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), {
            code: 'ECONNREFUSED',
            syscall: 'connect',
          }),
        )
      })
      return client
    }
    const server = new LineEnd(this.#time, listener.run, { localPort: port, remotePort: client.localPort })
    const line = new Line({ time: this.#time, number, port, client, server, owner: program, onBytes: this.#onBytes })
    this.open.add(line)
    line.onClosed = () => this.open.delete(line)
    for (const opened of this.onOpen) opened(line)
    for (const [end, owner] of [
      [client, program],
      [server, listener.program],
    ] as const) {
      if (owner === undefined) continue
      const forget = owner.onDeath(() => line.lost(end))
      end.once('close', forget)
    }
    line.begin(() => listener.server.emit('connection', server))
    return client
  }

  #listen(server: object & Partial<Listener['server']>, wanted: number, onListening?: () => void) {
    const port = wanted === 0 ? this.#nextPort++ : wanted
    const program = running.getStore()
    const run = AsyncLocalStorage.snapshot() as Run
    if (onListening !== undefined) server.once?.('listening', onListening)
    if (this.#listeners.get(port)?.program?.isAlive !== undefined && this.#listeners.get(port)?.program?.isAlive) {
      process.nextTick(() =>
        server.emit?.('error', Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' })),
      )
      return server
    }
    this.#listeners.set(port, { server, program, run })
    const forget = () => this.#listeners.get(port)?.server === server && this.#listeners.delete(port)
    program?.onDeath(forget)
    process.nextTick(() => {
      server.emit?.('listening')
      stopChecking(server)
    })
    return server
  }

  #portOf(server: object): number | undefined {
    for (const [port, listener] of this.#listeners) if (listener.server === server) return port
    return undefined
  }

  #close(server: object & Partial<Listener['server']>, onClosed?: (error?: Error) => void) {
    const port = this.#portOf(server)
    if (port === undefined) {
      process.nextTick(() =>
        onClosed?.(Object.assign(new Error('Server is not running'), { code: 'ERR_SERVER_NOT_RUNNING' })),
      )
      return server
    }
    if (onClosed !== undefined) server.once?.('close', onClosed)
    this.#listeners.delete(port)
    const own = [...this.open].filter((line) => line.port === port && !line.server.destroyed)
    let left = own.length
    const emitClosed = () => process.nextTick(() => server.emit?.('close'))
    if (left === 0) emitClosed()
    for (const { server: end } of own)
      end.once('close', () => {
        left -= 1
        if (left === 0) emitClosed()
      })
    return server
  }
}

/** Stops a timer that Node takes from its own clock, and which would keep the server of a dead program in memory. */
function stopChecking(server: object): void {
  const symbol = Object.getOwnPropertySymbols(server).find(({ description }) => description?.includes(CHECKING))
  if (symbol !== undefined) Reflect.get(server, symbol)?.close()
}

/** Frees the parser of an HTTP connection, which would keep its dead program in memory. */
function freeParser(end: object): void {
  const parser = Reflect.get(end, 'parser')
  parser?.remove()
  parser?.close()
}

interface LineOptions {
  readonly time: VirtualTime
  readonly number: number
  readonly port: number
  readonly client: LineEnd
  readonly server: LineEnd
  /** Program that opened it. */
  readonly owner: Program | undefined
  readonly onBytes: OnBytes
}

/** Connection between two programs. */
export class Line {
  /** Time that everything takes from one end to the other. */
  delayMs = 0
  /** Time since which it is cut; null while it is whole. */
  cutAtMs: number | null = null
  /** Time at which it was opened, cut or whole again. */
  changedAtMs: number
  /** Time at which an end was closed; null before that. */
  endedAtMs: number | null = null
  readonly port: number
  readonly client: LineEnd
  readonly server: LineEnd
  readonly owner: Program | undefined
  onClosed: (() => void) | null = null
  readonly #time: VirtualTime
  readonly #name: string
  readonly #onBytes: OnBytes
  readonly #cut = new Set<LineEnd>()
  /** Messages that the kernels would send again, in order. */
  #held: (() => void)[] = []

  constructor({ time, number, port, client, server, owner, onBytes }: LineOptions) {
    this.owner = owner
    this.port = port
    this.client = client
    this.server = server
    this.changedAtMs = time.nowMs
    this.#time = time
    this.#name = `${port}/${number}`
    this.#onBytes = onBytes
    client.line = this
    server.line = this
  }

  /** Cuts what one end sends, or both: it arrives once the line is whole again, if that is soon enough. */
  cut(which: keyof typeof CUT_ENDS): void {
    for (const name of CUT_ENDS[which]) this.#cut.add(this[name])
    this.changedAtMs = this.#time.nowMs
    this.cutAtMs ??= this.#time.nowMs
  }

  mend(): void {
    this.#cut.clear()
    this.changedAtMs = this.#time.nowMs
    this.cutAtMs = null
    for (const send of this.#held.splice(0)) send()
  }

  /** Establishes the connection. */
  begin(accept: () => void): void {
    this.#send(this.client, () => {
      this.#post(this.server, accept)
      this.#post(this.client, () => {
        // a client that has given up is not informed, or it would act on a connection that is over
        if (this.client.destroyed) return
        this.client.connecting = false
        this.client.emit('connect')
        this.client.emit('ready')
      })
    })
  }

  carry(from: LineEnd, bytes: Buffer, done: (error?: Error | null) => void): void {
    const to = this.other(from)
    this.#send(from, () => {
      this.#onBytes(from === this.client ? `${this.#name}>` : `${this.#name}<`, bytes)
      this.#post(to, () => to.arrive(bytes))
      from.whenDrained(to, done)
    })
  }

  ended(from: LineEnd): void {
    const to = this.other(from)
    this.#send(from, () => this.#post(to, () => to.arrive(null)))
  }

  closed(from: LineEnd, isReset: boolean): void {
    const to = this.other(from)
    this.endedAtMs ??= this.#time.nowMs
    if (to.destroyed) this.onClosed?.()
    else this.#send(from, () => this.#post(to, () => to.peerClosed(isReset)))
  }

  #send(from: LineEnd, send: () => void): void {
    if (!this.#cut.has(from)) {
      send()
      return
    }
    this.#held.push(send)
    if (!from.destroyed) from.run(() => setTimeout(() => this.#giveUp(from), GIVE_UP_MS))
  }

  #giveUp(from: LineEnd): void {
    if (this.#cut.has(from)) from.destroy(failure('ETIMEDOUT'))
  }

  /** Performs something at an end, after the delay of the line. */
  #post(end: LineEnd, deliver: () => void): void {
    if (this.delayMs === 0 && end.delayed === 0) {
      this.#time.post(end.run, deliver)
      return
    }
    end.delayed += 1
    const delayMs = Math.max(1, this.delayMs)
    end.run(() =>
      setTimeout(() => {
        end.delayed -= 1
        deliver()
      }, delayMs),
    )
  }

  /** The program of an end is dead: the kernel of its host closes the connection. */
  lost(end: LineEnd): void {
    end.removeAllListeners()
    freeParser(end)
    end.on('error', () => undefined)
    end.destroy()
  }

  other(end: LineEnd): LineEnd {
    return end === this.client ? this.server : this.client
  }
}

/** End of a connection, with the members of `net.Socket` that the libraries use. */
export class LineEnd extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly remoteFamily = 'IPv4'
  readonly localAddress = '127.0.0.1'
  readonly localPort: number
  readonly remotePort: number
  readonly run: Run
  readonly #time: VirtualTime
  line: Line | null = null
  connecting = true
  delayed = 0
  bytesRead = 0
  bytesWritten = 0
  timeout = 0
  #idle: NodeJS.Timeout | undefined
  #arrived: (Buffer | null)[] = []
  #isWanted = false
  #waiting: (() => void)[] = []
  #isReset = false

  constructor(time: VirtualTime, run: Run, { localPort, remotePort }: { localPort: number; remotePort: number }) {
    super({ allowHalfOpen: false })
    this.#time = time
    this.run = run
    this.localPort = localPort
    this.remotePort = remotePort
  }

  override _read(): void {
    this.#isWanted = true
    this.#feed()
  }

  override _write(chunk: Buffer, _: string, done: (error?: Error | null) => void): void {
    this.#send(Buffer.from(chunk), done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _final(done: () => void): void {
    this.line?.ended(this)
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#idle)
    this.#arrived = []
    this.line?.closed(this, this.#isReset || error !== null)
    for (const go of this.#waiting.splice(0)) go()
    done(error)
  }

  /** Takes bytes of the other end, or its end. */
  arrive(bytes: Buffer | null): void {
    if (this.destroyed) return
    this.#arrived.push(bytes)
    this.#touch()
    this.#feed()
  }

  /** The other end has closed: a reset loses what has not been read. */
  peerClosed(isReset: boolean): void {
    if (this.destroyed) return
    if (isReset) this.destroy(failure('ECONNRESET'))
    else this.arrive(null)
  }

  /** Calls `done` once the other end has room for more. */
  whenDrained(to: LineEnd, done: (error?: Error | null) => void): void {
    if (to.#arrived.length < 64) this.#time.post(this.run, done)
    else to.#waiting.push(() => this.#time.post(this.run, done))
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  setTimeout(delayMs: number, onTimeout?: () => void): this {
    this.timeout = delayMs
    clearTimeout(this.#idle)
    if (onTimeout !== undefined) {
      if (delayMs === 0) this.removeListener('timeout', onTimeout)
      else this.once('timeout', onTimeout)
    }
    if (delayMs > 0) this.#idle = setTimeout(() => this.emit('timeout'), delayMs)
    return this
  }

  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  resetAndDestroy(): this {
    this.#isReset = true
    this.destroy()
    return this
  }

  address(): object {
    return { address: this.localAddress, family: 'IPv4', port: this.localPort }
  }

  #send(bytes: Buffer, done: (error?: Error | null) => void): void {
    this.bytesWritten += bytes.length
    this.#touch()
    if (this.line === null || this.line.other(this).destroyed) done(failure('EPIPE'))
    else this.line.carry(this, bytes, done)
  }

  #feed(): void {
    while (this.#isWanted && this.#arrived.length > 0) {
      const bytes = this.#arrived.shift() ?? null
      if (bytes !== null) this.bytesRead += bytes.length
      this.#isWanted = this.push(bytes)
    }
    if (this.#arrived.length < 64) for (const go of this.#waiting.splice(0)) go()
  }

  #touch(): void {
    if (this.timeout > 0) this.#idle?.refresh()
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}
