import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Fault of a request on its way to a hub. */
export type FrontFault =
  | 'pass'
  /** The connection ends before the hub receives the request. */
  | 'cut_before'
  /** The hub receives it, and the connection ends before the response. */
  | 'cut_after'
  /** Another server responds. */
  | { readonly status: number; readonly headers?: Record<string, string>; readonly code?: string }

/** Proxy between gateways and a hub, with faults. */
export class FaultyFront {
  /** Called for every request. */
  faultOf: (path: string) => FrontFault = () => 'pass'
  targetUrl: string
  readonly #server = createServer((request, response) => this.#handle(request, response))

  constructor(targetUrl: string) {
    this.targetUrl = targetUrl
  }

  get url(): string {
    // it listens on a port, not on a pipe
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/'
    const fault = this.faultOf(path)
    if (fault === 'cut_before') {
      request.socket.destroy()
    } else if (typeof fault === 'object') {
      const { status, headers, code = 'made_up' } = fault
      request.resume()
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify({ status, code, detail: 'not now' }))
    } else {
      const { method, headers } = request
      const passed = forward(new URL(path, this.targetUrl), { method, headers }, (answer) => {
        if (fault === 'cut_after') return void request.socket.destroy()
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      passed.on('error', () => request.socket.destroy())
      request.pipe(passed)
    }
  }
}
