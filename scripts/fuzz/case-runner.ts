import { connect, type Socket } from 'node:net'
import { encodeFrame, Opcode } from '#scripts/rig/websocket.ts'
import { PACKET, PINGREQ } from '#testing/mqtt-packets.ts'
import { judgeAnswers, readAnswers } from './answers.ts'
import type { FuzzCase } from './fuzz-case.ts'
import { datedWrites, loginPacket } from './sample-packets.ts'
import { upgradeToMqtt } from './websocket-answer.ts'

/** Addresses that cases are sent to. */
export interface Target {
  mqttPort: number
  httpPort: number
}

/** Time within which the gateway must close a connection that it has to close. */
const CLOSE_LIMIT_MS = 10_000
const WELCOME_LIMIT_MS = 10_000
/** A response missing after this time is held back by an incomplete packet. */
const QUIET_MS = 40
/** Time limit for an expected response. */
const ANSWER_LIMIT_MS = 10_000
const SILENCE_MS = 30
const FRAME_BYTES = 60_000

/** Runs a case; returns the fault of the gateway, or null. */
export async function runCase(fuzzCase: FuzzCase, target: Target): Promise<string | null> {
  const copies = Array.from({ length: fuzzCase.copies }, () => runOnce(fuzzCase, target))
  const problems = await Promise.all(copies)
  return problems.find((problem) => problem !== null) ?? null
}

async function runOnce(fuzzCase: FuzzCase, target: Target): Promise<string | null> {
  const connection = new Connection(fuzzCase, target)
  try {
    await connection.open()
    await connection.speak()
    const problem = await connection.end()
    return problem ?? judgeAnswers(fuzzCase, connection.answers())
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    connection.destroy()
  }
}

class Connection {
  readonly #case: FuzzCase
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #isOpen = false
  #isClosed = false
  #failure: string | null = null
  #wake: (() => void) | undefined

  constructor(fuzzCase: FuzzCase, { mqttPort, httpPort }: Target) {
    this.#case = fuzzCase
    const port = fuzzCase.channel === 'tcp' ? mqttPort : httpPort
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('connect', () => {
      this.#isOpen = true
      this.#wake?.()
    })
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake?.()
    })
    // a connection that the gateway resets in the middle of a write is a closed connection
    this.#socket.on('error', (error) => {
      if (!this.#isOpen) this.#failure = `no connection: ${error.message}`
    })
    this.#socket.on('close', () => {
      this.#isClosed = true
      this.#wake?.()
    })
  }

  async open(): Promise<void> {
    await this.#until(() => this.#isOpen, CLOSE_LIMIT_MS)
    if (!this.#isOpen) throw new Error(this.#failure ?? 'no connection in time')
    if (this.#case.channel === 'websocket') this.#socket.write(upgradeToMqtt('/mqtt'))
  }

  /** Logs in as the case requires, and sends its bytes, each write in a separate event-loop tick. */
  async speak(): Promise<void> {
    const { entry, device } = this.#case
    const writes = datedWrites(this.#case.writes, Date.now())
    const login = entry === 'stranger' ? null : loginPacket(device)
    if (entry === 'welcomed' && login !== null) {
      this.#write(login)
      await this.#until(() => this.answers().packets.length > 0, WELCOME_LIMIT_MS)
      if (!this.#isClosed && this.answers().packets.length === 0) throw new Error('no CONNACK in time')
    }
    if (entry === 'pipelined' && login !== null) this.#write(Buffer.concat([login, ...writes]))
    else {
      for (const bytes of writes) {
        if (this.#isClosed) return
        this.#write(bytes)
        await new Promise(setImmediate)
      }
    }
  }

  /** Ends the connection in the way of the case; returns null if the gateway has closed it as required. */
  async end(): Promise<string | null> {
    const { ending, answers } = this.#case
    if (ending === 'close-expected') {
      await this.#until(() => false, CLOSE_LIMIT_MS)
      return this.#isClosed ? null : 'not closed for a protocol error'
    }
    if (ending === 'silence') await this.#until(() => false, SILENCE_MS)
    if (ending === 'silence' || ending === 'reset') {
      this.#socket.resetAndDestroy()
      return null
    }
    if (ending === 'ping') {
      this.#write(PINGREQ)
      const limitMs = answers.length > 0 ? ANSWER_LIMIT_MS : QUIET_MS
      await this.#until(() => this.#hasAnswered(), limitMs)
    }
    this.#socket.end()
    await this.#until(() => false, CLOSE_LIMIT_MS)
    return this.#isClosed ? null : 'left open after our side was closed'
  }

  answers() {
    return readAnswers(this.#case, this.#received)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #hasAnswered(): boolean {
    const answers = this.answers()
    if (this.#case.answers.length > 0) return judgeAnswers(this.#case, answers) === null
    return answers.packets.at(-1)?.type === PACKET.pingresp
  }

  #write(bytes: Buffer): void {
    if (this.#case.channel !== 'websocket') this.#socket.write(bytes)
    else {
      for (let at = 0; at < bytes.length || at === 0; at += FRAME_BYTES) {
        this.#socket.write(encodeFrame(Opcode.binary, bytes.subarray(at, at + FRAME_BYTES)))
      }
    }
  }

  /** Returns when the condition is true, the connection has closed, or the limit expires. */
  async #until(isTrue: () => boolean, limitMs: number): Promise<void> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#wake?.()
    }, limitMs)
    while (!isTrue() && !this.#isClosed && !isLate) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    clearTimeout(timer)
  }
}
