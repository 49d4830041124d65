import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from '#shared/testing/eventually.ts'

/** Request as received. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  text: string
  atMs: number
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** Responses to requests. */
export const ANSWERS = {
  ok: (response) => void response.writeHead(204).end(),
  broken: (response) => void response.writeHead(503).end('broken'),
  // until the client times out
  hang: () => undefined,
  cut: (response) => void response.destroy(),
} satisfies Record<string, Answer>

/** Real HTTP server that keeps received requests, and responds as the test sets it. */
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
    // a listening TCP server has an address and a port
    const address = server.address() as AddressInfo
    receiver.url = `http://127.0.0.1:${address.port}`
    return receiver
  }

  /** Returns the JSON bodies, in the order of arrival. */
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
