import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Scripted response; `drop` ends the connection without one. */
export type ScriptedAnswer = { status: number; body: unknown; headers?: Record<string, string> } | 'drop'

interface SeenRequest {
  request: string
  key: string | undefined
  body: unknown
}

/** Gateway that sends scripted responses, one for each request, and drops requests without one. */
export class ScriptedGateway {
  answers: ScriptedAnswer[] = []
  readonly requests: SeenRequest[] = []
  url = ''
  readonly #server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const key = request.headers['idempotency-key']
      this.requests.push({
        request: `${request.method} ${request.url}`,
        key: typeof key === 'string' ? key : undefined,
        body: text === '' ? null : JSON.parse(text),
      })
      const answer = this.answers.shift() ?? 'drop'
      if (answer === 'drop') return request.socket.destroy()
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      return response.end(JSON.stringify(answer.body))
    })
  })

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    this.url = `http://127.0.0.1:${port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
