import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from '#shared/testing/eventually.ts'

/** A request that a receiver got. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  text: string
  atMs: number
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** Answers to requests. */
export const ANSWERS = {
  ok: (response) => void response.writeHead(204).end(),
  broken: (response) => void response.writeHead(503).end('broken'),
  // until the other side gives up
  hang: () => undefined,
  cut: (response) => void response.destroy(),
} satisfies Record<string, Answer>

/** A real HTTP server that keeps what it gets, and answers as it is told to. */
export class Receiver {
  readonly received: Received[] = []
  answer: Answer
  url = ''

  private constructor(answer: Answer) {
    this.answer = answer
  }

  static async open(t: { after: (end: () => void) => void }, answer: Answer = ANSWERS.ok, port = 0): Promise<Receiver> {
    const receiver = new Receiver(answer)
    const server = createServer((request, response) => void receiver.#take(request, response))
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    // it listens
    const address = server.address() as AddressInfo
    receiver.url = `http://127.0.0.1:${address.port}`
    return receiver
  }

  /** JSON bodies, in the order in which they came. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  get bodies(): any[] {
    return this.received.map(({ text }) => JSON.parse(text))
  }

  async has(count: number, timeoutMs?: number): Promise<void> {
    await eventually(() => this.received.length >= count, `${count} requests`, timeoutMs)
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const { url: path = '', headers } = request
    const text = Buffer.concat(chunks).toString()
    this.received.push({ path, headers, text, atMs: performance.now() })
    this.answer(response, request)
  }
}
