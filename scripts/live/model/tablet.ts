import http from 'node:http'
import type WebSocketClient from 'ws'
import type { Random } from '#shared/random.ts'
import { type Answer, HTTP_PORT } from '../world/gateway-life.ts'
import { Program } from '../world/program.ts'
import { running } from '../world/virtual-time.ts'
import { type Frame, Picture } from './picture.ts'

const HOST = `127.0.0.1:${HTTP_PORT}`
const PING_MS = 40_000
/** Silence after which it gives its connection up. */
const SILENCE_MS = 90_000

export interface TabletAnswer extends Answer {
  readonly text: string
  readonly retryAfterS: number
}

interface TabletOptions {
  readonly name: string
  /** Devices that it subscribes to. */
  readonly wanted: readonly string[]
  readonly random: Random
  readonly now: () => number
  readonly onFrame: (tablet: Tablet, frame: Frame, text: string) => void
}

/** Shared tablet of the staff: a browser with a cookie, which keeps a picture of the course by frames alone. */
export class Tablet {
  readonly program: Program
  readonly picture: Picture
  readonly wanted: readonly string[]
  cookie: string | null = null
  /** Class of the library, which must be loaded after the sockets are replaced. */
  WebSocket: typeof WebSocketClient | null = null
  isOn = false
  switchedOnAtMs = 0
  /** Time since which something was wrong with its line, or it was not reading; infinite while it is. */
  disturbedAtMs = Number.NEGATIVE_INFINITY
  /** True while what arrives may have been sent before its rights changed. */
  isBehind = false
  /** Time since which it has been connected without a break and with the same rights; null if it is not. */
  knownSinceMs: number | null = null
  /** Time of the last close with 4401: its session has ended. */
  revokedAtMs = Number.NEGATIVE_INFINITY
  readonly #options: TabletOptions
  readonly #pongs = new Map<string, () => void>()
  #socket: WebSocketClient | null = null
  #heardMs = 0
  #count = 0
  /** Id of the newest subscription: the snapshot of an earlier one is out of date. */
  #subscription = ''
  #timer: NodeJS.Timeout | undefined

  constructor(options: TabletOptions) {
    this.#options = options
    this.wanted = options.wanted
    this.program = new Program(options.name)
    this.picture = new Picture(options.wanted)
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === 1
  }

  /** Opens its page: connects, and again after every outage. */
  switchOn(): void {
    if (this.isOn) return
    this.isOn = true
    this.switchedOnAtMs = this.#options.now()
    running.run(this.program, () => {
      this.#timer = setInterval(() => this.#beat(), PING_MS)
      this.#connect()
    })
  }

  switchOff(): void {
    this.isOn = false
    clearInterval(this.#timer)
    running.run(this.program, () => this.#socket?.terminate())
  }

  /** Drops the connection, and connects again. */
  rejoin(): void {
    running.run(this.program, () => this.#socket?.terminate())
  }

  /** Reads nothing for a while. */
  stall(forMs: number): void {
    const socket = this.#socket
    if (socket?.readyState !== 1) return
    this.disturbedAtMs = Number.POSITIVE_INFINITY
    this.isBehind = true
    running.run(this.program, () => {
      socket.pause()
      setTimeout(() => {
        socket.resume()
        this.recovered()
      }, forMs)
    })
  }

  /** The line is whole and it reads again: what was on the way comes first. */
  recovered(): void {
    this.disturbedAtMs = this.#options.now()
    void this.ping().then((isAnswered) => {
      if (isAnswered && this.disturbedAtMs <= this.#options.now()) this.isBehind = false
    })
  }

  /** Subscribes again with a snapshot, because its rights have changed. */
  subscribe(): void {
    this.knownSinceMs = null
    this.picture.clear()
    this.#subscription = `${++this.#count}`
    this.send({ type: 'subscribe', hardwareIds: this.wanted, snapshot: true, id: this.#subscription })
  }

  send(message: object): void {
    const socket = this.#socket
    if (socket?.readyState === 1) running.run(this.program, () => socket.send(JSON.stringify(message)))
  }

  /** Resolves with true once all that was sent before has arrived; with false if the connection is lost. */
  ping(): Promise<boolean> {
    const socket = this.#socket
    if (socket?.readyState !== 1) return Promise.resolve(false)
    const id = `ping ${++this.#count}`
    return new Promise((resolve) => {
      const lost = () => {
        this.#pongs.delete(id)
        resolve(false)
      }
      socket.once('close', lost)
      this.#pongs.set(id, () => {
        socket.off('close', lost)
        resolve(true)
      })
      this.send({ type: 'ping', id })
    })
  }

  /** Sends a request of its page; null if no response came. */
  request(method: string, path: string, body?: unknown): Promise<TabletAnswer | null> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return running.run(
      this.program,
      () =>
        new Promise((resolve) => {
          const headers = {
            host: HOST,
            origin: `http://${HOST}`,
            ...(this.cookie === null ? {} : { cookie: this.cookie }),
            ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': text.length }),
          }
          const options = { port: HTTP_PORT, host: '127.0.0.1', agent: false as const, method, path, headers }
          const request = http.request(options, (response) => {
            const chunks: Buffer[] = []
            response.on('data', (chunk: Buffer) => chunks.push(chunk))
            response.on('error', () => resolve(null))
            response.on('end', () => {
              const cookie = response.headers['set-cookie']?.[0]?.split(';')[0]
              if (cookie !== undefined) this.cookie = cookie
              const received = Buffer.concat(chunks).toString()
              const isJson = response.headers['content-type']?.includes('json') === true
              const parsed = isJson ? JSON.parse(received) : received
              const retryAfterS = Number(response.headers['retry-after'])
              resolve({ status: response.statusCode ?? 0, body: parsed, text: received, retryAfterS })
            })
          })
          request.on('error', () => resolve(null))
          request.on('close', () => resolve(null))
          request.end(text)
        }),
    )
  }

  #connect(): void {
    const { WebSocket, cookie } = this
    if (!this.isOn || WebSocket === null || this.#socket !== null) return
    const headers = { origin: `http://${HOST}`, ...(cookie === null ? {} : { cookie }) }
    const socket = new WebSocket(`ws://${HOST}/realtime`, { headers, perMessageDeflate: false })
    this.#socket = socket
    this.#heardMs = this.#options.now()
    socket.on('error', () => undefined)
    socket.on('message', (data) => this.#receive(data.toString()))
    socket.on('close', (code) => {
      if (code === 4401) this.revokedAtMs = this.#options.now()
      if (this.#socket !== socket) return
      this.#socket = null
      this.knownSinceMs = null
      this.picture.clear()
      setTimeout(() => this.#connect(), this.#options.random.integer(500, 4_000))
    })
  }

  #beat(): void {
    if (this.#options.now() - this.#heardMs > SILENCE_MS) this.#socket?.terminate()
    this.send({ type: 'ping' })
  }

  #receive(text: string): void {
    const frame = JSON.parse(text)
    this.#heardMs = this.#options.now()
    this.#options.onFrame(this, frame, text)
    if (frame.type === 'connected') {
      // nothing of an earlier connection comes on this one
      if (this.disturbedAtMs <= this.#options.now()) this.isBehind = false
      this.subscribe()
    }
    if (frame.type === 'pong' && frame.id !== undefined) {
      this.#pongs.get(frame.id)?.()
      this.#pongs.delete(frame.id)
    }
    this.picture.take(frame)
    if (frame.type === 'snapshot' && frame.id === this.#subscription) this.knownSinceMs = this.#options.now()
  }
}
