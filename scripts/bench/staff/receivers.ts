import { createServer } from 'node:http'
import { answerCalls } from '#scripts/rig/calls.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'

/** Process of the recipients of alerts: some respond immediately, paths below `/hang/` never. */

const received = new Map<string, number>()

/** Returns the port. */
function listen(): Promise<number> {
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    received.set(path, (received.get(path) ?? 0) + 1)
    request.resume()
    if (!path.startsWith('/hang/')) request.on('end', () => response.writeHead(200).end())
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

function forget(): void {
  received.clear()
}

/** Milliseconds until each of these paths was requested that often; null if the limit expires. */
async function waitFor(paths: readonly string[], times: number, limitMs: number): Promise<number | null> {
  const startedAtMs = performance.now()
  const isComplete = () => paths.every((path) => (received.get(path) ?? 0) >= times)
  return (await waitUntil(isComplete, limitMs, 20)) ? performance.now() - startedAtMs : null
}

const functions = answerCalls({ listen, forget, waitFor })

export type ReceiverFunctions = typeof functions
